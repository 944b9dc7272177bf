UPDATE item SET stock = 0 WHERE id IN (?, 3)
=> exact
  because it overwrites counter stock
  tries UPDATE item SET stock = 0 WHERE ( id IN (?, 3)) AND …
  exact for forum.item: id IN ({argument 1}, 3)
  writes forum.item: (id = argument 1) (id = 3)

UPDATE post SET likes = 0 WHERE id = ?
=> exact
  because it overwrites counter likes
  may share a transaction
  tries UPDATE post SET likes = 0 WHERE ( id = ?) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL
  exact for forum.post: id = {argument 1}
  writes forum.post: (id = argument 1)

UPDATE post SET likes = GREATEST(likes - 1, 0) WHERE id = ?
=> exact
  because it overwrites counter likes
  may share a transaction
  tries UPDATE post SET likes = GREATEST(likes - 1, 0) WHERE ( id = ?) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL
  exact for forum.post: id = {argument 1}
  writes forum.post: (id = argument 1)

UPDATE item SET stock = stock - ? WHERE id = ? AND stock >= ?
=> exact
  because its condition or order needs a counter
  may share a transaction
  tries UPDATE item SET stock = stock - ? WHERE ( id = ? AND IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL, (stock >= ?) IS TRUE, FALSE))
  goes with others: stock >= argument 3
  exact for forum.item: (id = argument 2)
  writes forum.item: (id = argument 2)

UPDATE post SET likes = likes * 2 WHERE title = 'x'
=> exact
  because it overwrites counter likes
  exact for forum.post: title = 'x'
  writes forum.post: any row

UPDATE post SET likes = LAST_INSERT_ID(likes + 1) WHERE id = 1
=> exact
  because it overwrites counter likes
  tries UPDATE post SET likes = LAST_INSERT_ID(likes + 1) WHERE ( id = 1) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL
  exact for forum.post: id = 1
  writes forum.post: (id = 1)

UPDATE post SET title = likes WHERE id = 1
=> exact
  because column title is set from a counter
  tries UPDATE post SET title = likes WHERE ( id = 1) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL
  exact for forum.post: id = 1
  writes forum.post: (id = 1)

UPDATE post SET id = 9 WHERE id = 1
=> exact
  because it changes the key
  exact for forum.post: id = 1
  writes forum.post: (id = 1) (id = 9)
  clears left-over slots of forum.post: (id = 9)

UPDATE post SET title = 'hot' WHERE likes > 100
=> exact
  because its condition or order needs a counter
  exact for forum.post: every row
  writes forum.post: any row

UPDATE item SET updated_at = NULL WHERE id = 1
=> exact
  because it sets touch column updated_at to another time than now
  may share a transaction
  tries UPDATE item SET updated_at = NULL WHERE ( id = 1) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL
  exact for forum.item: id = 1
  writes forum.item: (id = 1)

DELETE FROM user WHERE id IN (SELECT id FROM post WHERE likes = 0)
=> exact
  because it deletes from a join, or reads a counter table in a subquery
  exact for forum.post: every row

UPDATE post p JOIN user u ON u.id = p.id SET u.karma = p.likes
=> exact
  because it reads a counter in a join or a subquery
  exact for forum.post: every row

DELETE FROM post WHERE id = ?
=> exact
  because the slots go with the row
  tries DELETE FROM post WHERE ( id = ?) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL
  exact for forum.post: id = {argument 1}
  writes forum.post: (id = argument 1)

DELETE FROM post WHERE likes < 0
=> exact
  because the slots go with the row
  exact for forum.post: every row
  writes forum.post: any row

DELETE FROM post
=> exact
  because the slots go with the row
  exact for forum.post: every row
  writes forum.post: any row

DELETE p FROM post p JOIN user u ON u.id = p.id
=> verbatim
  writes forum.post: any row

REPLACE INTO page (day, page, hits) VALUES (?, ?, 0)
=> exact
  because it replaces rows
  exact for forum.page: (day = argument 1, page = argument 2)
  writes forum.page: (day = argument 1, page = argument 2)
  clears left-over slots of forum.page: (day = argument 1, page = argument 2)

INSERT INTO page (day, page, hits) VALUES (?, ?, 1) ON DUPLICATE KEY UPDATE hits = VALUES(hits)
=> exact
  because it overwrites counter hits
  exact for forum.page: (day = argument 1, page = argument 2)
  writes forum.page: (day = argument 1, page = argument 2)
  clears left-over slots of forum.page: (day = argument 1, page = argument 2)

SELECT likes FROM post WHERE id = ? FOR UPDATE
=> sum
  sends SELECT /*+ MERGE(`post`) */ likes FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `post` WHERE id = ? FOR UPDATE
  locks FOR UPDATE
  exact for forum.post: id = {argument 1}

SELECT likes FROM post WHERE likes > 3 LOCK IN SHARE MODE
=> sum
  sends SELECT /*+ MERGE(`post`) */ likes FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `post` WHERE likes > 3 LOCK IN SHARE MODE
  locks FOR UPDATE
  exact for forum.post: every row

SELECT * FROM popular
=> exact
  because it reaches the table through popular
  exact for forum.post: every row

SELECT DEFAULT(likes) FROM post
=> exact
  because DEFAULT(column) needs the table itself
  exact for forum.post: every row

SET @n = (SELECT likes FROM post WHERE id = 1)
=> exact
  because it can do anything
  exact for forum.post: every row
  writes forum.post: any row

CALL refresh('post')
=> exact
  because it can do anything
  exact for forum.post: every row
  writes forum.post: any row

HANDLER post READ FIRST
=> exact
  because it can do anything
  exact for forum.post: every row
  writes forum.post: any row

TABLE post
=> exact
  because it reads the whole table by name
  exact for forum.post: every row

WITH post AS (SELECT 1 AS likes) SELECT likes FROM post
=> exact
  because a common table expression has the table's name
  exact for forum.post: every row
  writes forum.post: any row

/*!40101 UPDATE post SET likes = 1 */
=> exact
  because it can do anything
  exact for forum.post: every row
  writes forum.post: any row

ALTER TABLE post ADD COLUMN x INT
=> exact
  because the table may change its key or its name
  exact for forum.post: every row

RENAME TABLE post TO article
=> exact
  because the table may change its key or its name
  exact for forum.post: every row

CREATE TABLE copy SELECT * FROM post
=> exact
  because it makes a table from a query
  exact for forum.post: every row

LOCK TABLES post WRITE
=> verbatim
  locks the slots of forum.post too

TRUNCATE TABLE post
=> verbatim
  the slots of forum.post go too

DROP TABLE post
=> verbatim
  the slots of forum.post go too

LOAD DATA INFILE 'x' INTO TABLE page
=> verbatim
  writes forum.page: any row
  clears left-over slots of forum.page: any row

LOAD DATA INFILE 'x' REPLACE INTO TABLE page
=> exact
  because it may replace rows
  exact for forum.page: every row
  writes forum.page: any row
  clears left-over slots of forum.page: any row

UPDATE post SET likes = likes + 1 WHERE id = 1; SELECT likes FROM post
=> verbatim
  statement UPDATE post SET likes = likes + 1 WHERE id = 1
  statement SELECT likes FROM post

UPDATE item SET stock = stock - 1 WHERE (id = ? AND stock >= 1) AND name <> 'x'
=> exact
  because its condition or order needs a counter
  may share a transaction
  tries UPDATE item SET stock = stock - 1 WHERE ( (id = ? AND IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL, (stock >= 1) IS TRUE, FALSE)) AND name <> 'x')
  exact for forum.item: (id = argument 1)
  writes forum.item: (id = argument 1)

UPDATE item SET stock = stock - 1 WHERE stock BETWEEN 1 AND 9 AND id = 3 AND CASE WHEN stock > 1 AND id > 2 THEN 1 ELSE 0 END && stock <> 7 LIMIT 1
=> exact
  because its condition or order needs a counter
  tries UPDATE item SET stock = stock - 1 WHERE ( IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL, (stock BETWEEN 1 AND 9) IS TRUE, FALSE) AND id = 3 AND IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL, (CASE WHEN stock > 1 AND id > 2 THEN 1 ELSE 0 END) IS TRUE, FALSE) && IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL, (stock <> 7) IS TRUE, FALSE)) LIMIT 1
  exact for forum.item: (id = 3)
  writes forum.item: (id = 3)

UPDATE item SET stock = stock - 1 WHERE stock BETWEEN 1 AND 9 AND id = 3 AND CASE WHEN stock > 1 AND id > 2 THEN 1 ELSE 0 END && stock <> 7
=> exact
  because its condition or order needs a counter
  may share a transaction
  tries UPDATE item SET stock = stock - 1 WHERE ( IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL, (stock BETWEEN 1 AND 9) IS TRUE, FALSE) AND id = 3 AND IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL, (CASE WHEN stock > 1 AND id > 2 THEN 1 ELSE 0 END) IS TRUE, FALSE) && IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL, (stock <> 7) IS TRUE, FALSE))
  exact for forum.item: (id = 3)
  writes forum.item: (id = 3)

UPDATE item SET stock = stock - 1 WHERE id = 3 AND (stock > 1 OR name = 'x')
=> exact
  because its condition or order needs a counter
  may share a transaction
  tries UPDATE item SET stock = stock - 1 WHERE ( id = 3 AND (IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL, (stock > 1 OR name = 'x') IS TRUE, FALSE)))
  exact for forum.item: (id = 3)
  writes forum.item: (id = 3)

DELETE FROM post WHERE likes <= 0 AND id = ?
=> exact
  because the slots go with the row
  tries DELETE FROM post WHERE ( IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL, (likes <= 0) IS TRUE, FALSE) AND id = ?)
  exact for forum.post: (id = argument 1)
  writes forum.post: (id = argument 1)

UPDATE user SET name = 'hot' WHERE EXISTS (SELECT 1 FROM post WHERE post.id = user.id AND post.likes > 100)
=> sum
  sends UPDATE user SET name = 'hot' WHERE EXISTS (SELECT /*+ MERGE(`post`) */ 1 FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `post` WHERE post.id = user.id AND post.likes > 100)
  exact for forum.post: every row

UPDATE user u SET score = (SELECT SUM(p.likes) FROM post p WHERE p.id = u.id)
=> sum
  sends UPDATE user u SET score = (SELECT /*+ MERGE(`p`) */ SUM(p.likes) FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `p` WHERE p.id = u.id)
  exact for forum.post: every row

UPDATE item SET stock = stock - ?, updated_at = NOW() WHERE id = ? AND stock > 0
=> exact
  because its condition or order needs a counter
  may share a transaction
  tries UPDATE item SET stock = stock - ?, updated_at = NOW() WHERE ( id = ? AND IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL, (stock > 0) IS TRUE, FALSE))
  goes with others: stock > 0
  exact for forum.item: (id = argument 2)
  writes forum.item: (id = argument 2)

UPDATE item SET stock = stock - ?, updated_at = ? WHERE (id = ?) AND (? <= stock)
=> exact
  because its condition or order needs a counter
  may share a transaction
  tries UPDATE item SET stock = stock - ?, updated_at = ? WHERE ( (id = ?) AND (IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL, (? <= stock) IS TRUE, FALSE)))
  goes with others: stock >= argument 4
  exact for forum.item: (id = argument 3)
  writes forum.item: (id = argument 3)

UPDATE item i SET i.stock = i.stock + -? WHERE i.id = ? AND i.stock - ? >= 0 LIMIT 1
=> exact
  because its condition or order needs a counter
  tries UPDATE item i SET i.stock = i.stock + -? WHERE ( i.id = ? AND IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `i`.`id` LOCK IN SHARE MODE) IS NULL, (i.stock - ? >= 0) IS TRUE, FALSE)) LIMIT 1
  goes with others: stock >= argument 3 + 0, or it may fail
  exact for forum.item: (id = argument 2)
  writes forum.item: (id = argument 2)

UPDATE post SET views = ? + views WHERE id = ? AND views + ? <= likes AND title = 'x'
=> exact
  because its condition or order needs a counter
  may share a transaction
  tries UPDATE post SET views = ? + views WHERE ( id = ? AND IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL, (views + ? <= likes) IS TRUE, FALSE) AND title = 'x')
  goes with others: views <= likes - argument 3
  exact for forum.post: (id = argument 2)
  writes forum.post: (id = argument 2)

UPDATE post SET views = views + ? WHERE id = ? AND likes - views >= ?
=> exact
  because its condition or order needs a counter
  may share a transaction
  tries UPDATE post SET views = views + ? WHERE ( id = ? AND IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL, (likes - views >= ?) IS TRUE, FALSE))
  goes with others: views <= likes - argument 3, or it may fail
  exact for forum.post: (id = argument 2)
  writes forum.post: (id = argument 2)

UPDATE post SET views = views + ? WHERE id = ? AND views < ?
=> exact
  because its condition or order needs a counter
  may share a transaction
  tries UPDATE post SET views = views + ? WHERE ( id = ? AND IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL, (views < ?) IS TRUE, FALSE))
  goes with others: views < argument 3
  exact for forum.post: (id = argument 2)
  writes forum.post: (id = argument 2)

UPDATE post SET views = views + ?, title = 'hot' WHERE slug = ? AND views < ?
=> exact
  because its condition or order needs a counter
  tries UPDATE post SET views = views + ?, title = 'hot' WHERE ( slug = ? AND IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL, (views < ?) IS TRUE, FALSE))
  goes with others: views < argument 3
  exact for forum.post: (slug = argument 2)
  writes forum.post: (slug = argument 2)

UPDATE post SET views = views + ?, title = 'hot' WHERE id = ? AND views < ? AND title <> 'hot'
=> exact
  because its condition or order needs a counter
  tries UPDATE post SET views = views + ?, title = 'hot' WHERE ( id = ? AND IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL, (views < ?) IS TRUE, FALSE) AND title <> 'hot')
  exact for forum.post: (id = argument 2)
  writes forum.post: (id = argument 2)

UPDATE post SET views = views + ?, title = CONCAT(title, 'x') WHERE id = ? AND views < ?
=> exact
  because its condition or order needs a counter
  tries UPDATE post SET views = views + ?, title = CONCAT(title, 'x') WHERE ( id = ? AND IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL, (views < ?) IS TRUE, FALSE))
  exact for forum.post: (id = argument 2)
  writes forum.post: (id = argument 2)

UPDATE item SET stock = stock - ? WHERE id = ? AND stock >= ? AND stock <= 1000
=> exact
  because its condition or order needs a counter
  may share a transaction
  tries UPDATE item SET stock = stock - ? WHERE ( id = ? AND IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL, (stock >= ?) IS TRUE, FALSE) AND IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL, (stock <= 1000) IS TRUE, FALSE))
  exact for forum.item: (id = argument 2)
  writes forum.item: (id = argument 2)

UPDATE item SET stock = stock - ? WHERE id = ? AND stock <> 0
=> exact
  because its condition or order needs a counter
  may share a transaction
  tries UPDATE item SET stock = stock - ? WHERE ( id = ? AND IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL, (stock <> 0) IS TRUE, FALSE))
  exact for forum.item: (id = argument 2)
  writes forum.item: (id = argument 2)

UPDATE item SET stock = stock - ? WHERE id = ? AND (stock >= ? OR id = 3)
=> exact
  because its condition or order needs a counter
  may share a transaction
  tries UPDATE item SET stock = stock - ? WHERE ( id = ? AND (IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL, (stock >= ? OR id = 3) IS TRUE, FALSE)))
  exact for forum.item: (id = argument 2)
  writes forum.item: (id = argument 2)

UPDATE item SET stock = stock - ? WHERE id = ? AND stock * 2 >= ?
=> exact
  because its condition or order needs a counter
  may share a transaction
  tries UPDATE item SET stock = stock - ? WHERE ( id = ? AND IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL, (stock * 2 >= ?) IS TRUE, FALSE))
  exact for forum.item: (id = argument 2)
  writes forum.item: (id = argument 2)

UPDATE item SET stock = stock - 1 WHERE id = ? AND stock >= ?
=> exact
  because its condition or order needs a counter
  may share a transaction
  tries UPDATE item SET stock = stock - 1 WHERE ( id = ? AND IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL, (stock >= ?) IS TRUE, FALSE))
  exact for forum.item: (id = argument 1)
  writes forum.item: (id = argument 1)

UPDATE IGNORE item SET stock = stock - ? WHERE id = ? AND stock >= ?
=> exact
  because its condition or order needs a counter
  tries UPDATE IGNORE item SET stock = stock - ? WHERE ( id = ? AND IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL, (stock >= ?) IS TRUE, FALSE))
  exact for forum.item: (id = argument 2)
  writes forum.item: (id = argument 2)

UPDATE post SET views = views + ?, likes = likes + 1 WHERE id = ? AND views < ?
=> exact
  because its condition or order needs a counter
  may share a transaction
  tries UPDATE post SET views = views + ?, likes = likes + 1 WHERE ( id = ? AND IF((SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL, (views < ?) IS TRUE, FALSE))
  exact for forum.post: (id = argument 2)
  writes forum.post: (id = argument 2)

UPDATE item SET stock = stock - ? WHERE id IN (?, ?) AND stock >= ?
=> exact
  because its condition or order needs a counter
  exact for forum.item: (id = argument 2) (id = argument 3)
  writes forum.item: (id = argument 2) (id = argument 3)

UPDATE item SET stock = stock - ? WHERE id = ?
=> increment
  tries UPDATE item SET stock = stock - ? WHERE ( id = ?) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL
  goes with others: stock >= argument 1, or it fails
  adds to forum.item.stock: - argument 1
  where id = {argument 2}
  exact for forum.item: id = {argument 2}
  writes forum.item: (id = argument 2)

