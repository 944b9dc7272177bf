INSERT INTO post (title, likes) VALUES (?, 0) RETURNING id
=> verbatim

INSERT INTO post (id, title, likes) VALUES (?, ?, 0) RETURNING id, likes
=> verbatim
  writes forum.post: (id = argument 1)
  clears left-over slots of forum.post: (id = argument 1)

INSERT INTO post (title, likes) VALUES ('x', 0), ('y', 1) RETURNING *
=> verbatim

INSERT INTO user (name) VALUES (?) RETURNING id, (SELECT MAX(likes) FROM post)
=> exact
  because it could not be parsed
  exact for forum.post: every row
  writes forum.post: any row

