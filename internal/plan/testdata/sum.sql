SELECT * FROM post WHERE id = ?
=> sum
  looks by SELECT * , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post WHERE id = ?, and no row is an answer
  or by SELECT * , (SELECT MIN(countermysql_slots.`slot`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id`) FROM post WHERE id = ?
  or by SELECT * , (SELECT CONCAT_WS(',', COUNT(*), SUM(countermysql_slots.`likes`), SUM(countermysql_slots.`views`)) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL) FROM post WHERE id = ?
  sends SELECT `post`.`id`, `post`.`slug`, `post`.`title`, `post`.`deleted_at`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes`, CAST(`post`.`views` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`views`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`views`) >= 0), 0) AS UNSIGNED) AS `views` FROM post WHERE id = ?
  or SELECT `post`.`id`, `post`.`slug`, `post`.`title`, `post`.`deleted_at`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes`, CAST(`post`.`views` + COALESCE(countermysql_slots.countermysql_2, 0) AS UNSIGNED) AS `views` FROM `forum`.`post` AS `post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1, SUM(`post`.`views`) AS countermysql_2 FROM `forum`.`post_slots` AS `post` WHERE (id = {argument 1}) AND `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id` WHERE id = {argument 1}
  exact for forum.post: every row

SELECT likes FROM post
=> sum
  looks by SELECT likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post, and no row is an answer
  sends SELECT /*+ MERGE(`post`) */ likes FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post`
  exact for forum.post: every row

SELECT p.likes, u.name FROM post p LEFT JOIN user AS u ON u.id = p.id WHERE p.views > ? ORDER BY p.likes DESC LIMIT 10
=> sum
  looks by SELECT p.likes, u.name , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post p LEFT JOIN user AS u ON u.id = p.id WHERE p.views > ? ORDER BY p.likes DESC LIMIT 10
  sends SELECT /*+ MERGE(`p`) */ p.likes, u.name FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes`, CAST(`post`.`views` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`views`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`views`) >= 0), 0) AS UNSIGNED) AS `views` FROM `forum`.`post`) AS `p` LEFT JOIN user AS u ON u.id = p.id WHERE p.views > ? ORDER BY p.likes DESC LIMIT 10
  exact for forum.post: every row

SELECT a.likes - b.likes FROM post a, post AS b WHERE a.id = 1 AND b.id = 2
=> sum
  looks by SELECT a.likes - b.likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post a, post AS b WHERE a.id = 1 AND b.id = 2, and no row is an answer
  or by SELECT a.likes - b.likes , (SELECT CONCAT_WS(';', COUNT(*), JSON_ARRAYAGG(CONCAT_WS(',', countermysql_slots.`id`, ';'))) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`slot` IS NOT NULL), `a`.`id` + 0 AS countermysql_key0, (SELECT CONCAT_WS(';', COUNT(*), JSON_ARRAYAGG(CONCAT_WS(',', countermysql_slots.`id`, ';'))) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`slot` IS NOT NULL), `b`.`id` + 0 AS countermysql_key0 FROM post a, post AS b WHERE a.id = 1 AND b.id = 2
  or by SELECT a.likes - b.likes , (SELECT CONCAT_WS(',', COUNT(*)) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `a`.`id` AND countermysql_slots.`slot` IS NOT NULL), (SELECT CONCAT_WS(',', COUNT(*)) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `b`.`id` AND countermysql_slots.`slot` IS NOT NULL) FROM post a, post AS b WHERE a.id = 1 AND b.id = 2
  sends SELECT /*+ MERGE(`a`, `b`) */ a.likes - b.likes FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `a`, (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `b` WHERE a.id = 1 AND b.id = 2
  exact for forum.post: every row

SELECT name FROM user WHERE id IN (SELECT id FROM post WHERE likes > 3)
=> sum
  looks by SELECT name , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM user WHERE id IN (SELECT id FROM post WHERE likes > 3)
  sends SELECT name FROM user WHERE id IN (SELECT /*+ MERGE(`post`) */ id FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `post` WHERE likes > 3)
  exact for forum.post: every row

SELECT likes FROM post UNION ALL SELECT cnt FROM hits
=> sum
  sends SELECT /*+ MERGE(`post`) */ likes FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `post` UNION ALL SELECT /*+ MERGE(`hits`) */ cnt FROM (SELECT CAST(`hits`.`cnt` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`cnt`), 0) FROM `forum`.`hits_slots` AS countermysql_slots WHERE countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`hits`.`cnt`) >= 0), 0) AS SIGNED) AS `cnt` FROM `forum`.`hits`) AS `hits`
  exact for forum.hits: every row
  exact for forum.post: every row

WITH top AS (SELECT id, likes FROM post ORDER BY likes DESC LIMIT 3) SELECT * FROM top
=> sum
  looks by WITH top AS (SELECT id, likes FROM post ORDER BY likes DESC LIMIT 3) SELECT * , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM top
  sends WITH top AS (SELECT /*+ MERGE(`post`) */ id, likes FROM (SELECT `id`, `slug`, `title`, `deleted_at`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes`, CAST(`post`.`views` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`views`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`views`) >= 0), 0) AS UNSIGNED) AS `views` FROM `forum`.`post`) AS `post` ORDER BY likes DESC LIMIT 3) SELECT * FROM top
  exact for forum.post: every row

SELECT forum.post.likes FROM forum.post USE INDEX (PRIMARY) WHERE forum.post.id = 1
=> sum
  looks by SELECT forum.post.likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM forum.post USE INDEX (PRIMARY) WHERE forum.post.id = 1, and no row is an answer
  sends SELECT /*+ MERGE(`post`) */ post.likes FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post` USE INDEX (PRIMARY)) AS `post` WHERE post.id = 1
  exact for forum.post: every row

SELECT /*+ MAX_EXECUTION_TIME(1000) */ MAX(likes) FROM post GROUP BY title HAVING MAX(likes) > 1
=> sum
  looks by SELECT /*+ MAX_EXECUTION_TIME(1000) */ MAX(likes) , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post GROUP BY title HAVING MAX(likes) > 1
  sends SELECT /*+ MERGE(`post`)  MAX_EXECUTION_TIME(1000) */ MAX(likes) FROM (SELECT `post`.`id`, `post`.`title`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` GROUP BY title HAVING MAX(likes) > 1
  exact for forum.post: every row

SELECT x.likes FROM (SELECT id, likes FROM post) AS x
=> sum
  looks by SELECT x.likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM (SELECT id, likes FROM post) AS x
  sends SELECT x.likes FROM (SELECT /*+ MERGE(`post`) */ id, likes FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `post`) AS x
  exact for forum.post: every row

SELECT likes, RANK() OVER (ORDER BY likes) FROM post
=> sum
  looks by SELECT likes, RANK() OVER (ORDER BY likes) , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post, and no row is an answer
  sends SELECT /*+ MERGE(`post`) */ likes, RANK() OVER (ORDER BY likes) FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post`
  exact for forum.post: every row

SELECT EXTRACT(YEAR FROM deleted_at), likes FROM (post JOIN user USING (id)), hits
=> sum
  looks by SELECT EXTRACT(YEAR FROM deleted_at), likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM (post JOIN user USING (id)), hits, and no row is an answer
  sends SELECT /*+ MERGE(`post`, `hits`) */ EXTRACT(YEAR FROM deleted_at), likes FROM ((SELECT `id`, `slug`, `title`, `deleted_at`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes`, CAST(`post`.`views` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`views`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`views`) >= 0), 0) AS UNSIGNED) AS `views` FROM `forum`.`post`) AS `post` JOIN user USING (id)), (SELECT CAST(`hits`.`cnt` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`cnt`), 0) FROM `forum`.`hits_slots` AS countermysql_slots WHERE countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`hits`.`cnt`) >= 0), 0) AS SIGNED) AS `cnt` FROM `forum`.`hits`) AS `hits`
  exact for forum.hits: every row
  exact for forum.post: every row

INSERT INTO archive (id, n) SELECT id, likes FROM post
=> sum
  sends INSERT INTO archive (id, n) SELECT /*+ MERGE(`post`) */ id, likes FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `post`
  exact for forum.post: every row

SELECT * FROM item ORDER BY updated_at
=> sum
  looks by SELECT * , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`item_slots` AS countermysql_slots) FROM item ORDER BY updated_at, and no row is an answer
  sends SELECT /*+ MERGE(`item`) */ * FROM (SELECT `item`.`id`, `item`.`name`, CAST(`item`.`stock` + COALESCE(countermysql_slots.countermysql_1, 0) AS UNSIGNED) AS `stock`, COALESCE(GREATEST(countermysql_slots.countermysql_2, `item`.`updated_at`), countermysql_slots.countermysql_2, `item`.`updated_at`) AS `updated_at` FROM `forum`.`item` LEFT JOIN (SELECT `item`.`id` AS countermysql_0, SUM(`item`.`stock`) AS countermysql_1, MAX(`item`.`updated_at`) AS countermysql_2 FROM `forum`.`item_slots` AS `item` WHERE `item`.`slot` IS NOT NULL GROUP BY `item`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `item`.`id`) AS `item` ORDER BY updated_at
  exact for forum.item: every row

SELECT likes INTO @n FROM post WHERE id = 1
=> sum
  sends SELECT /*+ MERGE(`post`) */ likes INTO @n FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `post` WHERE id = 1
  exact for forum.post: every row

SELECT id, likes FROM post WHERE id = 1 INTO @id, @`n`
=> sum
  sends SELECT id, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM post WHERE id = 1 INTO @id, @`n`
  exact for forum.post: every row

SELECT MAX(likes) FROM post ORDER BY likes DESC LIMIT 1 INTO @n
=> sum
  sends SELECT /*+ MERGE(`post`) */ MAX(likes) FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` ORDER BY likes DESC LIMIT 1 INTO @n
  exact for forum.post: every row

SELECT id, likes INTO @id, @n FROM post ORDER BY likes DESC LIMIT 1 FOR UPDATE
=> sum
  sends SELECT /*+ MERGE(`post`) */ id, likes INTO @id, @n FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `post` ORDER BY likes DESC LIMIT 1 FOR UPDATE
  locks FOR UPDATE
  exact for forum.post: every row

(SELECT likes FROM post WHERE id = 1) UNION (SELECT 1) LIMIT 1 INTO @n
=> sum
  sends (SELECT /*+ MERGE(`post`) */ likes FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `post` WHERE id = 1) UNION (SELECT 1) LIMIT 1 INTO @n
  exact for forum.post: every row

SELECT title, SUM(likes) FROM post GROUP BY title WITH ROLLUP
=> sum
  looks by SELECT title, SUM(likes) , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post GROUP BY title WITH ROLLUP
  sends SELECT title, SUM(likes) FROM (SELECT `id`, `title`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post` LIMIT 18446744073709551615) AS `post` GROUP BY title WITH ROLLUP
  exact for forum.post: every row

SELECT title AS likes, COUNT(*) FROM post GROUP BY likes
=> sum
  looks by SELECT title AS likes, COUNT(*) , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post GROUP BY likes
  sends SELECT title AS likes, COUNT(*) FROM (SELECT `id`, `title`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post` LIMIT 18446744073709551615) AS `post` GROUP BY likes
  exact for forum.post: every row

SELECT @r := @r + 1, id FROM post ORDER BY likes DESC
=> sum
  sends SELECT @r := @r + 1, id FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post` LIMIT 18446744073709551615) AS `post` ORDER BY likes DESC
  exact for forum.post: every row

UPDATE user SET karma = (SELECT SUM(likes) FROM post WHERE post.id = user.id)
=> sum
  sends UPDATE user SET karma = (SELECT /*+ MERGE(`post`) */ SUM(likes) FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `post` WHERE post.id = user.id)
  exact for forum.post: every row

SELECT name FROM user u WHERE EXISTS (SELECT 1 FROM post p WHERE p.id = u.id AND p.likes > ?)
=> sum
  looks by SELECT name , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM user u WHERE EXISTS (SELECT 1 FROM post p WHERE p.id = u.id AND p.likes > ?)
  sends SELECT name FROM user u WHERE EXISTS (SELECT /*+ MERGE(`p`) */ 1 FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `p` WHERE p.id = u.id AND p.likes > ?)
  exact for forum.post: every row

SELECT name FROM user u WHERE NOT EXISTS (SELECT * FROM post WHERE post.id = u.id AND likes < 1)
=> sum
  looks by SELECT name , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM user u WHERE NOT EXISTS (SELECT * FROM post WHERE post.id = u.id AND likes < 1)
  sends SELECT name FROM user u WHERE NOT EXISTS (SELECT /*+ MERGE(`post`) */ * FROM (SELECT `id`, `slug`, `title`, `deleted_at`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes`, CAST(`post`.`views` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`views`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`views`) >= 0), 0) AS UNSIGNED) AS `views` FROM `forum`.`post`) AS `post` WHERE post.id = u.id AND likes < 1)
  exact for forum.post: every row

SELECT u.name, (SELECT SUM(p.likes) FROM post p WHERE p.id = u.id) AS total FROM user u
=> sum
  looks by SELECT u.name, (SELECT SUM(p.likes) FROM post p WHERE p.id = u.id) AS total , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM user u, and no row is an answer
  sends SELECT u.name, (SELECT /*+ MERGE(`p`) */ SUM(p.likes) FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `p` WHERE p.id = u.id) AS total FROM user u
  exact for forum.post: every row

SELECT id, likes FROM post p WHERE likes > (SELECT AVG(q.likes) FROM post q WHERE q.title = p.title)
=> sum
  looks by SELECT id, likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post p WHERE likes > (SELECT AVG(q.likes) FROM post q WHERE q.title = p.title)
  sends SELECT /*+ MERGE(`p`) */ id, likes FROM (SELECT `id`, `title`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `p` WHERE likes > (SELECT /*+ MERGE(`q`) */ AVG(q.likes) FROM (SELECT `id`, `title`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `q` WHERE q.title = p.title)
  exact for forum.post: every row

SELECT id, likes FROM post ORDER BY 2 DESC, 1
=> sum
  looks by SELECT id, likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post ORDER BY 2 DESC, 1, and no row is an answer
  sends SELECT /*+ MERGE(`post`) */ id, likes FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` ORDER BY 2 DESC, 1
  exact for forum.post: every row

SELECT title, SUM(likes) FROM post GROUP BY 1 ORDER BY 2 DESC LIMIT 5
=> sum
  looks by SELECT title, SUM(likes) , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post GROUP BY 1 ORDER BY 2 DESC LIMIT 5
  sends SELECT /*+ MERGE(`post`) */ title, SUM(likes) FROM (SELECT `post`.`id`, `post`.`title`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` GROUP BY 1 ORDER BY 2 DESC LIMIT 5
  exact for forum.post: every row

SELECT COUNT(*) FROM post p WHERE p.likes = ? AND views <> 0
=> sum
  looks by SELECT COUNT(*) , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post p WHERE p.likes = ? AND views <> 0
  sends SELECT /*+ MERGE(`p`) */ COUNT(*) FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes`, CAST(`post`.`views` + COALESCE(countermysql_slots.countermysql_2, 0) AS UNSIGNED) AS `views` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1, SUM(`post`.`views`) AS countermysql_2 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `p` WHERE p.likes = ? AND views <> 0
  or SELECT CAST(COUNT(*) + COALESCE((SELECT COALESCE(SUM((( CAST(`p`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) = {argument 1} AND CAST(`p`.`views` + COALESCE(countermysql_slots.countermysql_2, 0) AS UNSIGNED) <> 0) IS TRUE) - (( p.likes = {argument 1} AND views <> 0) IS TRUE)), 0) FROM (SELECT `p`.`id` AS countermysql_0, SUM(`p`.`likes`) AS countermysql_1, SUM(`p`.`views`) AS countermysql_2 FROM `forum`.`post_slots` AS `p` WHERE `p`.`slot` IS NOT NULL GROUP BY `p`.`id` HAVING SUM(`p`.`likes`) <> 0 OR SUM(`p`.`views`) <> 0) AS countermysql_slots STRAIGHT_JOIN `forum`.`post` AS `p` ON countermysql_slots.countermysql_0 = `p`.`id`), 18446744073709551615 + (COUNT(*) >= 0), 0) AS SIGNED) AS `COUNT(*)` FROM post p WHERE p.likes = {argument 1} AND views <> 0
  exact for forum.post: every row

SELECT COUNT(*) AS n FROM page WHERE hits BETWEEN 1 AND ?
=> sum
  looks by SELECT COUNT(*) AS n , (SELECT MIN(countermysql_slots.`day`) IS NOT NULL FROM `forum`.`page_slots` AS countermysql_slots) FROM page WHERE hits BETWEEN 1 AND ?
  sends SELECT /*+ MERGE(`page`) */ COUNT(*) AS n FROM (SELECT `page`.`day`, `page`.`page`, CAST(`page`.`hits` + COALESCE(countermysql_slots.countermysql_2, 0) AS DECIMAL(65,2)) AS `hits` FROM `forum`.`page` LEFT JOIN (SELECT `page`.`day` AS countermysql_0, `page`.`page` AS countermysql_1, SUM(`page`.`hits`) AS countermysql_2 FROM `forum`.`page_slots` AS `page` WHERE `page`.`slot` IS NOT NULL GROUP BY `page`.`day`, `page`.`page`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `page`.`day` AND countermysql_slots.countermysql_1 = `page`.`page`) AS `page` WHERE hits BETWEEN 1 AND ?
  or SELECT CAST(COUNT(*) + COALESCE((SELECT COALESCE(SUM((( CAST(`page`.`hits` + COALESCE(countermysql_slots.countermysql_2, 0) AS DECIMAL(65,2)) BETWEEN 1 AND {argument 1}) IS TRUE) - (( hits BETWEEN 1 AND {argument 1}) IS TRUE)), 0) FROM (SELECT `page`.`day` AS countermysql_0, `page`.`page` AS countermysql_1, SUM(`page`.`hits`) AS countermysql_2 FROM `forum`.`page_slots` AS `page` WHERE `page`.`slot` IS NOT NULL GROUP BY `page`.`day`, `page`.`page` HAVING SUM(`page`.`hits`) <> 0) AS countermysql_slots STRAIGHT_JOIN `forum`.`page` AS `page` ON countermysql_slots.countermysql_0 = `page`.`day` AND countermysql_slots.countermysql_1 = `page`.`page`), 18446744073709551615 + (COUNT(*) >= 0), 0) AS SIGNED) AS `n` FROM page WHERE hits BETWEEN 1 AND {argument 1}
  exact for forum.page: every row

SELECT COUNT(*) FROM post AS likes WHERE likes.likes > ?
=> sum
  looks by SELECT COUNT(*) , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post AS likes WHERE likes.likes > ?
  sends SELECT /*+ MERGE(`likes`) */ COUNT(*) FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `likes` WHERE likes.likes > ?
  or SELECT CAST(COUNT(*) + COALESCE((SELECT COALESCE(SUM((( CAST(`likes`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) > {argument 1}) IS TRUE) - (( likes.likes > {argument 1}) IS TRUE)), 0) FROM (SELECT `likes`.`id` AS countermysql_0, SUM(`likes`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `likes` WHERE `likes`.`slot` IS NOT NULL GROUP BY `likes`.`id` HAVING SUM(`likes`.`likes`) <> 0) AS countermysql_slots STRAIGHT_JOIN `forum`.`post` AS `likes` ON countermysql_slots.countermysql_0 = `likes`.`id`), 18446744073709551615 + (COUNT(*) >= 0), 0) AS SIGNED) AS `COUNT(*)` FROM post AS likes WHERE likes.likes > {argument 1}
  exact for forum.post: every row

SELECT COUNT(*) FROM post WHERE likes + 1 > ?
=> sum
  looks by SELECT COUNT(*) , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post WHERE likes + 1 > ?
  sends SELECT /*+ MERGE(`post`) */ COUNT(*) FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` WHERE likes + 1 > ?
  exact for forum.post: every row

SELECT views, title, likes FROM post p WHERE deleted_at IS NULL AND p.id IN (3, ?) LIMIT 2
=> sum
  looks by SELECT views, title, likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post p WHERE deleted_at IS NULL AND p.id IN (3, ?) LIMIT 2, and no row is an answer
  or by SELECT views, title, likes , (SELECT MIN(countermysql_slots.`slot`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `p`.`id`) FROM post p WHERE deleted_at IS NULL AND p.id IN (3, ?) LIMIT 2
  or by SELECT views, title, likes , (SELECT CONCAT_WS(',', COUNT(*), SUM(countermysql_slots.`views`), SUM(countermysql_slots.`likes`)) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `p`.`id` AND countermysql_slots.`slot` IS NOT NULL) FROM post p WHERE deleted_at IS NULL AND p.id IN (3, ?) LIMIT 2
  sends SELECT CAST(`p`.`views` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`views`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `p`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`p`.`views`) >= 0), 0) AS UNSIGNED) AS `views`, title, CAST(`p`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `p`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`p`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM post p WHERE deleted_at IS NULL AND p.id IN (3, ?) LIMIT 2
  or SELECT CAST(`p`.`views` + COALESCE(countermysql_slots.countermysql_1, 0) AS UNSIGNED) AS `views`, title, CAST(`p`.`likes` + COALESCE(countermysql_slots.countermysql_2, 0) AS SIGNED) AS `likes` FROM `forum`.`post` AS `p` LEFT JOIN (SELECT `p`.`id` AS countermysql_0, SUM(`p`.`views`) AS countermysql_1, SUM(`p`.`likes`) AS countermysql_2 FROM `forum`.`post_slots` AS `p` WHERE ((`p`.`id` = 3) OR (`p`.`id` = {argument 1})) AND `p`.`slot` IS NOT NULL GROUP BY `p`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `p`.`id` WHERE deleted_at IS NULL AND p.id IN (3, {argument 1}) LIMIT 2
  exact for forum.post: every row

SELECT likes, views FROM post WHERE id BETWEEN ? AND ? + 19
=> sum
  looks by SELECT likes, views , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post WHERE id BETWEEN ? AND ? + 19, and no row is an answer
  or by SELECT likes, views , (SELECT CONCAT_WS(';', COUNT(*), JSON_ARRAYAGG(CONCAT_WS(',', countermysql_slots.`id`, countermysql_slots.`likes`, countermysql_slots.`views`, ';'))) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`slot` IS NOT NULL), `post`.`id` + 0 AS countermysql_key0 FROM post WHERE id BETWEEN ? AND ? + 19
  or by SELECT likes, views , (SELECT CONCAT_WS(',', COUNT(*), SUM(countermysql_slots.`likes`), SUM(countermysql_slots.`views`)) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL) FROM post WHERE id BETWEEN ? AND ? + 19
  sends SELECT CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes`, CAST(`post`.`views` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`views`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`views`) >= 0), 0) AS UNSIGNED) AS `views` FROM post WHERE id BETWEEN ? AND ? + 19
  or SELECT CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes`, CAST(`post`.`views` + COALESCE(countermysql_slots.countermysql_2, 0) AS UNSIGNED) AS `views` FROM `forum`.`post` AS `post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1, SUM(`post`.`views`) AS countermysql_2 FROM `forum`.`post_slots` AS `post` WHERE (id BETWEEN {argument 1} AND {argument 2} + 19) AND `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id` WHERE id BETWEEN {argument 1} AND {argument 2} + 19
  exact for forum.post: every row

