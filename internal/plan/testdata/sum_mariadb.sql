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
  sends SELECT likes FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post`
  exact for forum.post: every row

SELECT p.likes, u.name FROM post p LEFT JOIN user AS u ON u.id = p.id WHERE p.views > ? ORDER BY p.likes DESC LIMIT 10
=> sum
  looks by SELECT p.likes, u.name , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post p LEFT JOIN user AS u ON u.id = p.id WHERE p.views > ? ORDER BY p.likes DESC LIMIT 10
  sends SELECT p.likes, u.name FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes`, CAST(`post`.`views` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`views`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`views`) >= 0), 0) AS UNSIGNED) AS `views` FROM `forum`.`post`) AS `p` LEFT JOIN user AS u ON u.id = p.id WHERE p.views > ? ORDER BY p.likes DESC LIMIT 10
  exact for forum.post: every row

SELECT a.likes - b.likes FROM post a, post AS b WHERE a.id = 1 AND b.id = 2
=> sum
  looks by SELECT a.likes - b.likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post a, post AS b WHERE a.id = 1 AND b.id = 2, and no row is an answer
  or by SELECT a.likes - b.likes , (SELECT CONCAT_WS(';', COUNT(*), GROUP_CONCAT(CONCAT_WS(',', countermysql_slots.`id`, ';') SEPARATOR '')) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`slot` IS NOT NULL), `a`.`id` + 0 AS countermysql_key0, (SELECT CONCAT_WS(';', COUNT(*), GROUP_CONCAT(CONCAT_WS(',', countermysql_slots.`id`, ';') SEPARATOR '')) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`slot` IS NOT NULL), `b`.`id` + 0 AS countermysql_key0 FROM post a, post AS b WHERE a.id = 1 AND b.id = 2
  or by SELECT a.likes - b.likes , (SELECT CONCAT_WS(',', COUNT(*)) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `a`.`id` AND countermysql_slots.`slot` IS NOT NULL), (SELECT CONCAT_WS(',', COUNT(*)) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `b`.`id` AND countermysql_slots.`slot` IS NOT NULL) FROM post a, post AS b WHERE a.id = 1 AND b.id = 2
  sends SELECT a.likes - b.likes FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `a`, (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `b` WHERE a.id = 1 AND b.id = 2
  exact for forum.post: every row

SELECT name FROM user WHERE id IN (SELECT id FROM post WHERE likes > 3)
=> sum
  looks by SELECT name , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM user WHERE id IN (SELECT id FROM post WHERE likes > 3)
  sends SELECT name FROM user WHERE id IN (SELECT id FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `post` WHERE likes > 3)
  exact for forum.post: every row

SELECT likes FROM post UNION ALL SELECT cnt FROM hits
=> sum
  sends SELECT likes FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `post` UNION ALL SELECT cnt FROM (SELECT CAST(`hits`.`cnt` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`cnt`), 0) FROM `forum`.`hits_slots` AS countermysql_slots WHERE countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`hits`.`cnt`) >= 0), 0) AS SIGNED) AS `cnt` FROM `forum`.`hits`) AS `hits`
  exact for forum.hits: every row
  exact for forum.post: every row

WITH top AS (SELECT id, likes FROM post ORDER BY likes DESC LIMIT 3) SELECT * FROM top
=> sum
  looks by WITH top AS (SELECT id, likes FROM post ORDER BY likes DESC LIMIT 3) SELECT * , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM top
  sends WITH top AS (SELECT id, likes FROM (SELECT `id`, `slug`, `title`, `deleted_at`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes`, CAST(`post`.`views` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`views`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`views`) >= 0), 0) AS UNSIGNED) AS `views` FROM `forum`.`post`) AS `post` ORDER BY likes DESC LIMIT 3) SELECT * FROM top
  exact for forum.post: every row

SELECT forum.post.likes FROM forum.post USE INDEX (PRIMARY) WHERE forum.post.id = 1
=> sum
  looks by SELECT forum.post.likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM forum.post USE INDEX (PRIMARY) WHERE forum.post.id = 1, and no row is an answer
  sends SELECT post.likes FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post` USE INDEX (PRIMARY)) AS `post` WHERE post.id = 1
  exact for forum.post: every row

SELECT /*+ MAX_EXECUTION_TIME(1000) */ MAX(likes) FROM post GROUP BY title HAVING MAX(likes) > 1
=> sum
  looks by SELECT /*+ MAX_EXECUTION_TIME(1000) */ MAX(likes) , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post GROUP BY title HAVING MAX(likes) > 1
  sends SELECT /*+ MAX_EXECUTION_TIME(1000) */ MAX(likes) FROM (SELECT `post`.`id`, `post`.`title`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` GROUP BY title HAVING MAX(likes) > 1
  exact for forum.post: every row

SELECT x.likes FROM (SELECT id, likes FROM post) AS x
=> sum
  looks by SELECT x.likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM (SELECT id, likes FROM post) AS x
  sends SELECT x.likes FROM (SELECT id, likes FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `post`) AS x
  exact for forum.post: every row

SELECT likes, RANK() OVER (ORDER BY likes) FROM post
=> sum
  looks by SELECT likes, RANK() OVER (ORDER BY likes) , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post, and no row is an answer
  sends SELECT likes, RANK() OVER (ORDER BY likes) FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post`
  exact for forum.post: every row

SELECT EXTRACT(YEAR FROM deleted_at), likes FROM (post JOIN user USING (id)), hits
=> sum
  looks by SELECT EXTRACT(YEAR FROM deleted_at), likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM (post JOIN user USING (id)), hits, and no row is an answer
  sends SELECT EXTRACT(YEAR FROM deleted_at), likes FROM ((SELECT `id`, `slug`, `title`, `deleted_at`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes`, CAST(`post`.`views` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`views`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`views`) >= 0), 0) AS UNSIGNED) AS `views` FROM `forum`.`post`) AS `post` JOIN user USING (id)), (SELECT CAST(`hits`.`cnt` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`cnt`), 0) FROM `forum`.`hits_slots` AS countermysql_slots WHERE countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`hits`.`cnt`) >= 0), 0) AS SIGNED) AS `cnt` FROM `forum`.`hits`) AS `hits`
  exact for forum.hits: every row
  exact for forum.post: every row

INSERT INTO archive (id, n) SELECT id, likes FROM post
=> sum
  sends INSERT INTO archive (id, n) SELECT id, likes FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `post`
  exact for forum.post: every row

SELECT * FROM item ORDER BY updated_at
=> sum
  looks by SELECT * , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`item_slots` AS countermysql_slots) FROM item ORDER BY updated_at, and no row is an answer
  sends SELECT * FROM (SELECT `item`.`id`, `item`.`name`, CAST(`item`.`stock` + COALESCE(countermysql_slots.countermysql_1, 0) AS UNSIGNED) AS `stock`, COALESCE(GREATEST(countermysql_slots.countermysql_2, `item`.`updated_at`), countermysql_slots.countermysql_2, `item`.`updated_at`) AS `updated_at` FROM `forum`.`item` LEFT JOIN (SELECT `item`.`id` AS countermysql_0, SUM(`item`.`stock`) AS countermysql_1, MAX(`item`.`updated_at`) AS countermysql_2 FROM `forum`.`item_slots` AS `item` WHERE `item`.`slot` IS NOT NULL GROUP BY `item`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `item`.`id`) AS `item` ORDER BY updated_at
  exact for forum.item: every row

