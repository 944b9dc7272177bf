SELECT 1
=> verbatim

SELECT name FROM user WHERE id = ?
=> verbatim

SELECT id, title FROM post WHERE id = ?
=> verbatim

SELECT COUNT(*) FROM post
=> verbatim

INSERT INTO log (text) VALUES ('liked a post')
=> verbatim

UPDATE post SET title = ? WHERE id = ?
=> verbatim
  exact for forum.post: id = {argument 2}
  writes forum.post: (id = argument 2)

UPDATE post SET likes = likes + 1, title = ? WHERE id = ?
=> verbatim
  because it sets title, which is neither a counter nor a touch column
  adds to forum.post.likes: + 1
  exact for forum.post: id = {argument 2}
  writes forum.post: (id = argument 2)

UPDATE post USE INDEX (PRIMARY) SET likes = likes + 1 WHERE id = ?
=> verbatim
  because it names indexes or partitions
  adds to forum.post.likes: + 1
  exact for forum.post: id = {argument 1}
  writes forum.post: (id = argument 1)

UPDATE post SET likes = likes + 1 WHERE title = ?
=> verbatim
  because its condition does not give a primary or unique key by = or IN
  adds to forum.post.likes: + 1
  exact for forum.post: title = {argument 1}
  writes forum.post: any row

UPDATE post SET likes = likes + 1 WHERE id > ? ORDER BY id LIMIT 3
=> verbatim
  because it has ORDER BY or LIMIT
  adds to forum.post.likes: + 1
  exact for forum.post: id > {argument 1}
  writes forum.post: any row

UPDATE post SET likes = likes + 1
=> verbatim
  because its condition does not give a primary or unique key by = or IN
  adds to forum.post.likes: + 1
  exact for forum.post: every row
  writes forum.post: any row

UPDATE IGNORE post SET likes = likes + 1 WHERE id = 1
=> verbatim
  because by IGNORE, or by a hint, it may cut what it adds
  adds to forum.post.likes: + 1
  exact for forum.post: id = 1
  writes forum.post: (id = 1)

UPDATE post p JOIN user u ON u.id = p.id SET p.likes = p.likes + 1 WHERE u.name = ?
=> verbatim
  because it updates a join
  adds to forum.post.likes: + 1
  exact for forum.post: every row
  writes forum.post: any row

INSERT INTO post (slug, title) VALUES (?, ?)
=> verbatim

INSERT INTO post (id, slug) VALUES (?, ?)
=> verbatim
  writes forum.post: (id = argument 1)
  clears left-over slots of forum.post: (id = argument 1)

INSERT INTO post (slug, likes) VALUES (?, 1) ON DUPLICATE KEY UPDATE likes = likes + 1
=> verbatim
  because as an upsert it needs a table of one unique key, without INSERT triggers or columns ON UPDATE, and no further clauses
  adds to forum.post.likes: + 1
  row 
  exact for forum.post: (slug = argument 1)
  writes forum.post: any row

INSERT INTO post (id, slug) SELECT id, name FROM user
=> verbatim
  writes forum.post: any row
  clears left-over slots of forum.post: any row

SELECT id FROM post WHERE id = ? FOR UPDATE
=> verbatim

EXPLAIN UPDATE post SET likes = likes + 1 WHERE id = 1
=> verbatim

SHOW CREATE TABLE post
=> verbatim

CREATE INDEX by_title ON post (title)
=> verbatim

UPDATE user SET karma = 0 WHERE id IN (SELECT id FROM post WHERE title = '')
=> verbatim

DELETE FROM user WHERE id IN (SELECT id FROM post WHERE title = '')
=> verbatim

DELETE u FROM user u JOIN post ON post.id = u.id WHERE title = ''
=> verbatim

