SELECT id, likes FROM post ORDER BY likes DESC LIMIT 10
=> sum
  looks by SELECT id, likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post ORDER BY likes DESC LIMIT 10, and no row is an answer
  or by SELECT id, likes , (SELECT CONCAT_WS(';', COUNT(*), JSON_ARRAYAGG(CONCAT_WS(',', countermysql_slots.`id`, countermysql_slots.`likes`, countermysql_slots_base.`likes`, ';'))) FROM `forum`.`post_slots` AS countermysql_slots STRAIGHT_JOIN `forum`.`post` AS countermysql_slots_base ON countermysql_slots_base.`id` = countermysql_slots.`id` WHERE countermysql_slots.`slot` IS NOT NULL), `post`.`id` + 0 AS countermysql_key0, `post`.`likes` + 0 AS countermysql_value FROM post ORDER BY likes DESC LIMIT 10
  sends SELECT /*+ MERGE(`post`) */ id, likes FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` ORDER BY likes DESC LIMIT 10
  or SELECT /*+ MERGE(`post`) */ id, likes FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id` UNION ALL (SELECT `post`.`id`, 0 FROM post WHERE (SELECT 1 FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL LIMIT 1) IS NULL ORDER BY likes DESC LIMIT 10)) AS countermysql_slots STRAIGHT_JOIN `forum`.`post` ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` ORDER BY likes DESC LIMIT 10
  exact for forum.post: every row

SELECT * FROM post p WHERE deleted_at IS NULL AND p.title <> 'none' ORDER BY p.likes, id LIMIT 5, 10
=> sum
  looks by SELECT * , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post p WHERE deleted_at IS NULL AND p.title <> 'none' ORDER BY p.likes, id LIMIT 5, 10, and no row is an answer
  sends SELECT /*+ MERGE(`p`) */ * FROM (SELECT `id`, `slug`, `title`, `deleted_at`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes`, CAST(`post`.`views` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`views`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`views`) >= 0), 0) AS UNSIGNED) AS `views` FROM `forum`.`post`) AS `p` WHERE deleted_at IS NULL AND p.title <> 'none' ORDER BY p.likes, id LIMIT 5, 10
  or SELECT /*+ MERGE(`p`) */ * FROM (SELECT `post`.`id`, `post`.`slug`, `post`.`title`, `post`.`deleted_at`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes`, CAST(`post`.`views` + COALESCE(countermysql_slots.countermysql_2, 0) AS UNSIGNED) AS `views` FROM (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1, SUM(`post`.`views`) AS countermysql_2 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id` UNION ALL (SELECT `p`.`id`, 0, 0 FROM post p WHERE (deleted_at IS NULL AND p.title <> 'none') AND (SELECT 1 FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `p`.`id` AND countermysql_slots.`slot` IS NOT NULL LIMIT 1) IS NULL ORDER BY p.likes, id LIMIT 15)) AS countermysql_slots STRAIGHT_JOIN `forum`.`post` ON countermysql_slots.countermysql_0 = `post`.`id`) AS `p` WHERE deleted_at IS NULL AND p.title <> 'none' ORDER BY p.likes, id LIMIT 5, 10
  exact for forum.post: every row

SELECT p.id, ? AS n, likes AS likes FROM forum.post AS p WHERE (likes = ? OR likes > ?) AND title NOT IN (?) ORDER BY likes DESC, p.id DESC LIMIT ? OFFSET ?
=> sum
  looks by SELECT p.id, ? AS n, likes AS likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM forum.post AS p WHERE (likes = ? OR likes > ?) AND title NOT IN (?) ORDER BY likes DESC, p.id DESC LIMIT ? OFFSET ?
  sends SELECT /*+ MERGE(`p`) */ p.id, ? AS n, likes AS likes FROM (SELECT `id`, `title`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `p` WHERE (likes = ? OR likes > ?) AND title NOT IN (?) ORDER BY likes DESC, p.id DESC LIMIT ? OFFSET ?
  or SELECT /*+ MERGE(`p`) */ p.id, {argument 1} AS n, likes AS likes FROM (SELECT `post`.`id`, `post`.`title`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id` UNION ALL (SELECT `p`.`id`, 0 FROM forum.post AS p WHERE ((likes = {argument 2} OR likes > {argument 3}) AND title NOT IN ({argument 4})) AND (SELECT 1 FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `p`.`id` AND countermysql_slots.`slot` IS NOT NULL LIMIT 1) IS NULL ORDER BY likes DESC, p.id DESC LIMIT {argument 0})) AS countermysql_slots STRAIGHT_JOIN `forum`.`post` ON countermysql_slots.countermysql_0 = `post`.`id`) AS `p` WHERE (likes = {argument 2} OR likes > {argument 3}) AND title NOT IN ({argument 4}) ORDER BY likes DESC, p.id DESC LIMIT {argument 5} OFFSET {argument 6}
  exact for forum.post: every row

SELECT likes FROM post WHERE title <> 'a' ORDER BY likes LIMIT ?, 3
=> sum
  looks by SELECT likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post WHERE title <> 'a' ORDER BY likes LIMIT ?, 3, and no row is an answer
  sends SELECT /*+ MERGE(`post`) */ likes FROM (SELECT `id`, `title`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `post` WHERE title <> 'a' ORDER BY likes LIMIT ?, 3
  or SELECT /*+ MERGE(`post`) */ likes FROM (SELECT `post`.`id`, `post`.`title`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id` UNION ALL (SELECT `post`.`id`, 0 FROM post WHERE (title <> 'a') AND (SELECT 1 FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL LIMIT 1) IS NULL ORDER BY likes LIMIT {argument 0})) AS countermysql_slots STRAIGHT_JOIN `forum`.`post` ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` WHERE title <> 'a' ORDER BY likes LIMIT {argument 1}, 3
  exact for forum.post: every row

SELECT * FROM page ORDER BY hits, page DESC LIMIT 3
=> sum
  looks by SELECT * , (SELECT MIN(countermysql_slots.`day`) IS NOT NULL FROM `forum`.`page_slots` AS countermysql_slots) FROM page ORDER BY hits, page DESC LIMIT 3, and no row is an answer
  sends SELECT /*+ MERGE(`page`) */ * FROM (SELECT `page`.`day`, `page`.`page`, CAST(`page`.`hits` + COALESCE(countermysql_slots.countermysql_2, 0) AS DECIMAL(65,2)) AS `hits` FROM `forum`.`page` LEFT JOIN (SELECT `page`.`day` AS countermysql_0, `page`.`page` AS countermysql_1, SUM(`page`.`hits`) AS countermysql_2 FROM `forum`.`page_slots` AS `page` WHERE `page`.`slot` IS NOT NULL GROUP BY `page`.`day`, `page`.`page`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `page`.`day` AND countermysql_slots.countermysql_1 = `page`.`page`) AS `page` ORDER BY hits, page DESC LIMIT 3
  or SELECT /*+ MERGE(`page`) */ * FROM (SELECT `page`.`day`, `page`.`page`, CAST(`page`.`hits` + COALESCE(countermysql_slots.countermysql_2, 0) AS DECIMAL(65,2)) AS `hits` FROM (SELECT `page`.`day` AS countermysql_0, `page`.`page` AS countermysql_1, SUM(`page`.`hits`) AS countermysql_2 FROM `forum`.`page_slots` AS `page` WHERE `page`.`slot` IS NOT NULL GROUP BY `page`.`day`, `page`.`page` UNION ALL (SELECT `page`.`day`, `page`.`page`, 0 FROM page WHERE (SELECT 1 FROM `forum`.`page_slots` AS countermysql_slots WHERE countermysql_slots.`day` = `page`.`day` AND countermysql_slots.`page` = `page`.`page` AND countermysql_slots.`slot` IS NOT NULL LIMIT 1) IS NULL ORDER BY hits, page DESC LIMIT 3)) AS countermysql_slots STRAIGHT_JOIN `forum`.`page` ON countermysql_slots.countermysql_0 = `page`.`day` AND countermysql_slots.countermysql_1 = `page`.`page`) AS `page` ORDER BY hits, page DESC LIMIT 3
  exact for forum.page: every row

SELECT hits FROM page ORDER BY hits DESC, page, day LIMIT 3
=> sum
  looks by SELECT hits , (SELECT MIN(countermysql_slots.`day`) IS NOT NULL FROM `forum`.`page_slots` AS countermysql_slots) FROM page ORDER BY hits DESC, page, day LIMIT 3, and no row is an answer
  sends SELECT /*+ MERGE(`page`) */ hits FROM (SELECT `page`.`day`, `page`.`page`, CAST(`page`.`hits` + COALESCE(countermysql_slots.countermysql_2, 0) AS DECIMAL(65,2)) AS `hits` FROM `forum`.`page` LEFT JOIN (SELECT `page`.`day` AS countermysql_0, `page`.`page` AS countermysql_1, SUM(`page`.`hits`) AS countermysql_2 FROM `forum`.`page_slots` AS `page` WHERE `page`.`slot` IS NOT NULL GROUP BY `page`.`day`, `page`.`page`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `page`.`day` AND countermysql_slots.countermysql_1 = `page`.`page`) AS `page` ORDER BY hits DESC, page, day LIMIT 3
  or SELECT /*+ MERGE(`page`) */ hits FROM (SELECT `page`.`day`, `page`.`page`, CAST(`page`.`hits` + COALESCE(countermysql_slots.countermysql_2, 0) AS DECIMAL(65,2)) AS `hits` FROM (SELECT `page`.`day` AS countermysql_0, `page`.`page` AS countermysql_1, SUM(`page`.`hits`) AS countermysql_2 FROM `forum`.`page_slots` AS `page` WHERE `page`.`slot` IS NOT NULL GROUP BY `page`.`day`, `page`.`page` UNION ALL (SELECT `page`.`day`, `page`.`page`, 0 FROM page WHERE (SELECT 1 FROM `forum`.`page_slots` AS countermysql_slots WHERE countermysql_slots.`day` = `page`.`day` AND countermysql_slots.`page` = `page`.`page` AND countermysql_slots.`slot` IS NOT NULL LIMIT 1) IS NULL ORDER BY hits DESC, page, day LIMIT 3)) AS countermysql_slots STRAIGHT_JOIN `forum`.`page` ON countermysql_slots.countermysql_0 = `page`.`day` AND countermysql_slots.countermysql_1 = `page`.`page`) AS `page` ORDER BY hits DESC, page, day LIMIT 3
  exact for forum.page: every row

SELECT id FROM item ORDER BY stock DESC, updated_at DESC, id DESC LIMIT 2
=> sum
  looks by SELECT id , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`item_slots` AS countermysql_slots) FROM item ORDER BY stock DESC, updated_at DESC, id DESC LIMIT 2, and no row is an answer
  sends SELECT /*+ MERGE(`item`) */ id FROM (SELECT `item`.`id`, CAST(`item`.`stock` + COALESCE(countermysql_slots.countermysql_1, 0) AS UNSIGNED) AS `stock`, COALESCE(GREATEST(countermysql_slots.countermysql_2, `item`.`updated_at`), countermysql_slots.countermysql_2, `item`.`updated_at`) AS `updated_at` FROM `forum`.`item` LEFT JOIN (SELECT `item`.`id` AS countermysql_0, SUM(`item`.`stock`) AS countermysql_1, MAX(`item`.`updated_at`) AS countermysql_2 FROM `forum`.`item_slots` AS `item` WHERE `item`.`slot` IS NOT NULL GROUP BY `item`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `item`.`id`) AS `item` ORDER BY stock DESC, updated_at DESC, id DESC LIMIT 2
  or SELECT /*+ MERGE(`item`) */ id FROM (SELECT `item`.`id`, CAST(`item`.`stock` + COALESCE(countermysql_slots.countermysql_1, 0) AS UNSIGNED) AS `stock`, COALESCE(GREATEST(countermysql_slots.countermysql_2, `item`.`updated_at`), countermysql_slots.countermysql_2, `item`.`updated_at`) AS `updated_at` FROM (SELECT `item`.`id` AS countermysql_0, SUM(`item`.`stock`) AS countermysql_1, MAX(`item`.`updated_at`) AS countermysql_2 FROM `forum`.`item_slots` AS `item` WHERE `item`.`slot` IS NOT NULL GROUP BY `item`.`id` UNION ALL (SELECT `item`.`id`, 0, NULL FROM item WHERE (SELECT 1 FROM `forum`.`item_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `item`.`id` AND countermysql_slots.`slot` IS NOT NULL LIMIT 1) IS NULL ORDER BY stock DESC, updated_at DESC, id DESC LIMIT 2)) AS countermysql_slots STRAIGHT_JOIN `forum`.`item` ON countermysql_slots.countermysql_0 = `item`.`id`) AS `item` ORDER BY stock DESC, updated_at DESC, id DESC LIMIT 2
  exact for forum.item: every row

SELECT id, likes FROM post ORDER BY likes DESC, id LIMIT 10
=> sum
  looks by SELECT id, likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post ORDER BY likes DESC, id LIMIT 10, and no row is an answer
  sends SELECT /*+ MERGE(`post`) */ id, likes FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` ORDER BY likes DESC, id LIMIT 10
  or SELECT /*+ MERGE(`post`) */ id, likes FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id` UNION ALL (SELECT `post`.`id`, 0 FROM post WHERE (`post`.`id`) NOT IN (SELECT countermysql_slots.`id` FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`slot` IS NOT NULL) ORDER BY likes DESC, id LIMIT 10)) AS countermysql_slots STRAIGHT_JOIN `forum`.`post` ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` ORDER BY likes DESC, id LIMIT 10
  exact for forum.post: every row

SELECT id, likes FROM post ORDER BY likes DESC, title LIMIT 10
=> sum
  looks by SELECT id, likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post ORDER BY likes DESC, title LIMIT 10, and no row is an answer
  sends SELECT /*+ MERGE(`post`) */ id, likes FROM (SELECT `post`.`id`, `post`.`title`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` ORDER BY likes DESC, title LIMIT 10
  or SELECT /*+ MERGE(`post`) */ id, likes FROM (SELECT `post`.`id`, `post`.`title`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id` UNION ALL (SELECT `post`.`id`, 0 FROM post WHERE (`post`.`id`) NOT IN (SELECT countermysql_slots.`id` FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`slot` IS NOT NULL) ORDER BY likes DESC, title LIMIT 10)) AS countermysql_slots STRAIGHT_JOIN `forum`.`post` ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` ORDER BY likes DESC, title LIMIT 10
  exact for forum.post: every row

SELECT id, likes FROM post ORDER BY views DESC LIMIT 10
=> sum
  looks by SELECT id, likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post ORDER BY views DESC LIMIT 10, and no row is an answer
  sends SELECT /*+ MERGE(`post`) */ id, likes FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes`, CAST(`post`.`views` + COALESCE(countermysql_slots.countermysql_2, 0) AS UNSIGNED) AS `views` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1, SUM(`post`.`views`) AS countermysql_2 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` ORDER BY views DESC LIMIT 10
  or SELECT /*+ MERGE(`post`) */ id, likes FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes`, CAST(`post`.`views` + COALESCE(countermysql_slots.countermysql_2, 0) AS UNSIGNED) AS `views` FROM (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1, SUM(`post`.`views`) AS countermysql_2 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id` UNION ALL (SELECT `post`.`id`, 0, 0 FROM post WHERE (`post`.`id`) NOT IN (SELECT countermysql_slots.`id` FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`slot` IS NOT NULL) ORDER BY views DESC LIMIT 10)) AS countermysql_slots STRAIGHT_JOIN `forum`.`post` ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` ORDER BY views DESC LIMIT 10
  exact for forum.post: every row

SELECT id, likes FROM post ORDER BY likes + 0 LIMIT 10
=> sum
  looks by SELECT id, likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post ORDER BY likes + 0 LIMIT 10, and no row is an answer
  sends SELECT /*+ MERGE(`post`) */ id, likes FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` ORDER BY likes + 0 LIMIT 10
  exact for forum.post: every row

SELECT id, views AS likes FROM post ORDER BY likes LIMIT 10
=> sum
  looks by SELECT id, views AS likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post ORDER BY likes LIMIT 10, and no row is an answer
  sends SELECT /*+ MERGE(`post`) */ id, views AS likes FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes`, CAST(`post`.`views` + COALESCE(countermysql_slots.countermysql_2, 0) AS UNSIGNED) AS `views` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1, SUM(`post`.`views`) AS countermysql_2 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` ORDER BY likes LIMIT 10
  exact for forum.post: every row

SELECT id, likes FROM post WHERE id < 10 ORDER BY likes LIMIT 10
=> sum
  looks by SELECT id, likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post WHERE id < 10 ORDER BY likes LIMIT 10, and no row is an answer
  sends SELECT /*+ MERGE(`post`) */ id, likes FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `post` WHERE id < 10 ORDER BY likes LIMIT 10
  exact for forum.post: every row

SELECT id, likes FROM post ORDER BY likes LIMIT 10, 191
=> sum
  looks by SELECT id, likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post ORDER BY likes LIMIT 10, 191, and no row is an answer
  sends SELECT /*+ MERGE(`post`) */ id, likes FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` ORDER BY likes LIMIT 10, 191
  exact for forum.post: every row

SELECT DISTINCT likes FROM post ORDER BY likes LIMIT 10
=> sum
  looks by SELECT DISTINCT likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post ORDER BY likes LIMIT 10
  sends SELECT /*+ MERGE(`post`) */ DISTINCT likes FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` ORDER BY likes LIMIT 10
  exact for forum.post: every row

SELECT SQL_CALC_FOUND_ROWS id FROM post ORDER BY likes LIMIT 10
=> sum
  looks by SELECT SQL_CALC_FOUND_ROWS id , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post ORDER BY likes LIMIT 10, and no row is an answer
  sends SELECT /*+ MERGE(`post`) */ SQL_CALC_FOUND_ROWS id FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` ORDER BY likes LIMIT 10
  exact for forum.post: every row

SELECT id, RANK() OVER (ORDER BY likes) FROM post ORDER BY likes LIMIT 10
=> sum
  looks by SELECT id, RANK() OVER (ORDER BY likes) , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post ORDER BY likes LIMIT 10, and no row is an answer
  sends SELECT /*+ MERGE(`post`) */ id, RANK() OVER (ORDER BY likes) FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` ORDER BY likes LIMIT 10
  exact for forum.post: every row

SELECT id FROM post USE INDEX (PRIMARY) ORDER BY likes LIMIT 10
=> sum
  looks by SELECT id , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post USE INDEX (PRIMARY) ORDER BY likes LIMIT 10, and no row is an answer
  sends SELECT /*+ MERGE(`post`) */ id FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM `forum`.`post` USE INDEX (PRIMARY) LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` ORDER BY likes LIMIT 10
  exact for forum.post: every row

SELECT id FROM post ORDER BY likes LIMIT 10 FOR UPDATE
=> sum
  sends SELECT /*+ MERGE(`post`) */ id FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `post` ORDER BY likes LIMIT 10 FOR UPDATE
  locks FOR UPDATE
  exact for forum.post: every row

SELECT day FROM page ORDER BY hits, page LIMIT 3
=> sum
  looks by SELECT day , (SELECT MIN(countermysql_slots.`day`) IS NOT NULL FROM `forum`.`page_slots` AS countermysql_slots) FROM page ORDER BY hits, page LIMIT 3, and no row is an answer
  sends SELECT /*+ MERGE(`page`) */ day FROM (SELECT `page`.`day`, `page`.`page`, CAST(`page`.`hits` + COALESCE(countermysql_slots.countermysql_2, 0) AS DECIMAL(65,2)) AS `hits` FROM `forum`.`page` LEFT JOIN (SELECT `page`.`day` AS countermysql_0, `page`.`page` AS countermysql_1, SUM(`page`.`hits`) AS countermysql_2 FROM `forum`.`page_slots` AS `page` WHERE `page`.`slot` IS NOT NULL GROUP BY `page`.`day`, `page`.`page`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `page`.`day` AND countermysql_slots.countermysql_1 = `page`.`page`) AS `page` ORDER BY hits, page LIMIT 3
  or SELECT /*+ MERGE(`page`) */ day FROM (SELECT `page`.`day`, `page`.`page`, CAST(`page`.`hits` + COALESCE(countermysql_slots.countermysql_2, 0) AS DECIMAL(65,2)) AS `hits` FROM (SELECT `page`.`day` AS countermysql_0, `page`.`page` AS countermysql_1, SUM(`page`.`hits`) AS countermysql_2 FROM `forum`.`page_slots` AS `page` WHERE `page`.`slot` IS NOT NULL GROUP BY `page`.`day`, `page`.`page` UNION ALL (SELECT `page`.`day`, `page`.`page`, 0 FROM page WHERE (`page`.`day`, `page`.`page`) NOT IN (SELECT countermysql_slots.`day`, countermysql_slots.`page` FROM `forum`.`page_slots` AS countermysql_slots WHERE countermysql_slots.`slot` IS NOT NULL) ORDER BY hits, page LIMIT 3)) AS countermysql_slots STRAIGHT_JOIN `forum`.`page` ON countermysql_slots.countermysql_0 = `page`.`day` AND countermysql_slots.countermysql_1 = `page`.`page`) AS `page` ORDER BY hits, page LIMIT 3
  exact for forum.page: every row

SELECT likes FROM post WHERE title = 'a' ORDER BY likes LIMIT 3
=> sum
  looks by SELECT likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post WHERE title = 'a' ORDER BY likes LIMIT 3, and no row is an answer
  sends SELECT /*+ MERGE(`post`) */ likes FROM (SELECT `id`, `title`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `post` WHERE title = 'a' ORDER BY likes LIMIT 3
  exact for forum.post: every row

SELECT likes FROM post WHERE slug <> 'a' ORDER BY likes LIMIT 3
=> sum
  looks by SELECT likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post WHERE slug <> 'a' ORDER BY likes LIMIT 3, and no row is an answer
  sends SELECT /*+ MERGE(`post`) */ likes FROM (SELECT `id`, `slug`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `post` WHERE slug <> 'a' ORDER BY likes LIMIT 3
  exact for forum.post: every row

SELECT likes FROM post WHERE forum.post.title <> 'a' ORDER BY likes LIMIT 3
=> sum
  looks by SELECT likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post WHERE forum.post.title <> 'a' ORDER BY likes LIMIT 3, and no row is an answer
  sends SELECT /*+ MERGE(`post`) */ likes FROM (SELECT `id`, `title`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `post` WHERE post.title <> 'a' ORDER BY likes LIMIT 3
  exact for forum.post: every row

SELECT likes FROM post WHERE views > 1 ORDER BY likes LIMIT 3
=> sum
  looks by SELECT likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post WHERE views > 1 ORDER BY likes LIMIT 3
  sends SELECT /*+ MERGE(`post`) */ likes FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes`, CAST(`post`.`views` + COALESCE(countermysql_slots.countermysql_2, 0) AS UNSIGNED) AS `views` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1, SUM(`post`.`views`) AS countermysql_2 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` WHERE views > 1 ORDER BY likes LIMIT 3
  exact for forum.post: every row

SELECT p.id, p.likes, m.name FROM post p JOIN member m ON m.id = p.slug ORDER BY p.likes DESC LIMIT 20
=> sum
  looks by SELECT p.id, p.likes, m.name , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post p JOIN member m ON m.id = p.slug ORDER BY p.likes DESC LIMIT 20, and no row is an answer
  or by SELECT p.id, p.likes, m.name , (SELECT CONCAT_WS(';', COUNT(*), JSON_ARRAYAGG(CONCAT_WS(',', countermysql_slots.`id`, countermysql_slots.`likes`, countermysql_slots_base.`likes`, ';'))) FROM `forum`.`post_slots` AS countermysql_slots STRAIGHT_JOIN `forum`.`post` AS countermysql_slots_base ON countermysql_slots_base.`id` = countermysql_slots.`id` WHERE countermysql_slots.`slot` IS NOT NULL), `p`.`id` + 0 AS countermysql_key0, `p`.`likes` + 0 AS countermysql_value FROM post p JOIN member m ON m.id = p.slug ORDER BY p.likes DESC LIMIT 20
  sends SELECT /*+ MERGE(`p`) */ p.id, p.likes, m.name FROM (SELECT `id`, `slug`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `p` JOIN member m ON m.id = p.slug ORDER BY p.likes DESC LIMIT 20
  or SELECT /*+ MERGE(`p`) */ p.id, p.likes, m.name FROM (SELECT `post`.`id`, `post`.`slug`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id` UNION (SELECT `p`.`id`, 0 FROM post p JOIN member m ON m.id = p.slug WHERE (SELECT 1 FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `p`.`id` AND countermysql_slots.`slot` IS NOT NULL LIMIT 1) IS NULL ORDER BY p.likes DESC LIMIT 20)) AS countermysql_slots STRAIGHT_JOIN `forum`.`post` ON countermysql_slots.countermysql_0 = `post`.`id`) AS `p` JOIN member m ON m.id = p.slug ORDER BY p.likes DESC LIMIT 20
  exact for forum.post: every row

SELECT p.*, i.stock FROM member m LEFT JOIN item i ON (i.id = m.id) RIGHT JOIN forum.post AS p ON p.id = m.id AND m.name = p.title WHERE p.title <> ? ORDER BY p.likes DESC, p.id DESC LIMIT ?, ?
=> sum
  looks by SELECT p.*, i.stock , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`item_slots` AS countermysql_slots), (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM member m LEFT JOIN item i ON (i.id = m.id) RIGHT JOIN forum.post AS p ON p.id = m.id AND m.name = p.title WHERE p.title <> ? ORDER BY p.likes DESC, p.id DESC LIMIT ?, ?, and no row is an answer
  sends SELECT /*+ MERGE(`i`, `p`) */ p.*, i.stock FROM member m LEFT JOIN (SELECT `id`, `name`, CAST(`item`.`stock` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`stock`), 0) FROM `forum`.`item_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `item`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`item`.`stock`) >= 0), 0) AS UNSIGNED) AS `stock`, COALESCE(GREATEST((SELECT MAX(countermysql_slots.`updated_at`) FROM `forum`.`item_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `item`.`id` AND countermysql_slots.`slot` IS NOT NULL), `item`.`updated_at`), (SELECT MAX(countermysql_slots.`updated_at`) FROM `forum`.`item_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `item`.`id` AND countermysql_slots.`slot` IS NOT NULL), `item`.`updated_at`) AS `updated_at` FROM `forum`.`item`) AS `i` ON (i.id = m.id) RIGHT JOIN (SELECT `id`, `slug`, `title`, `deleted_at`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes`, CAST(`post`.`views` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`views`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`views`) >= 0), 0) AS UNSIGNED) AS `views` FROM `forum`.`post`) AS `p` ON p.id = m.id AND m.name = p.title WHERE p.title <> ? ORDER BY p.likes DESC, p.id DESC LIMIT ?, ?
  or SELECT /*+ MERGE(`i`, `p`) */ p.*, i.stock FROM member m LEFT JOIN (SELECT `id`, `name`, CAST(`item`.`stock` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`stock`), 0) FROM `forum`.`item_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `item`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`item`.`stock`) >= 0), 0) AS UNSIGNED) AS `stock`, COALESCE(GREATEST((SELECT MAX(countermysql_slots.`updated_at`) FROM `forum`.`item_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `item`.`id` AND countermysql_slots.`slot` IS NOT NULL), `item`.`updated_at`), (SELECT MAX(countermysql_slots.`updated_at`) FROM `forum`.`item_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `item`.`id` AND countermysql_slots.`slot` IS NOT NULL), `item`.`updated_at`) AS `updated_at` FROM `forum`.`item`) AS `i` ON (i.id = m.id) RIGHT JOIN (SELECT `post`.`id`, `post`.`slug`, `post`.`title`, `post`.`deleted_at`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes`, CAST(`post`.`views` + COALESCE(countermysql_slots.countermysql_2, 0) AS UNSIGNED) AS `views` FROM (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1, SUM(`post`.`views`) AS countermysql_2 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id` UNION (SELECT `p`.`id`, 0, 0 FROM member m LEFT JOIN item i ON (i.id = m.id) RIGHT JOIN forum.post AS p ON p.id = m.id AND m.name = p.title WHERE (p.title <> {argument 1}) AND (SELECT 1 FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `p`.`id` AND countermysql_slots.`slot` IS NOT NULL LIMIT 1) IS NULL ORDER BY p.likes DESC, p.id DESC LIMIT {argument 0})) AS countermysql_slots STRAIGHT_JOIN `forum`.`post` ON countermysql_slots.countermysql_0 = `post`.`id`) AS `p` ON p.id = m.id AND m.name = p.title WHERE p.title <> {argument 1} ORDER BY p.likes DESC, p.id DESC LIMIT {argument 2}, {argument 3}
  exact for forum.item: every row
  exact for forum.post: every row

SELECT p.id, i.stock FROM post p JOIN item i ON i.id = p.id ORDER BY i.stock, i.name LIMIT 5
=> sum
  looks by SELECT p.id, i.stock , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`item_slots` AS countermysql_slots) FROM post p JOIN item i ON i.id = p.id ORDER BY i.stock, i.name LIMIT 5, and no row is an answer
  sends SELECT /*+ MERGE(`p`, `i`) */ p.id, i.stock FROM (SELECT `id` FROM `forum`.`post`) AS `p` JOIN (SELECT `id`, `name`, CAST(`item`.`stock` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`stock`), 0) FROM `forum`.`item_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `item`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`item`.`stock`) >= 0), 0) AS UNSIGNED) AS `stock` FROM `forum`.`item`) AS `i` ON i.id = p.id ORDER BY i.stock, i.name LIMIT 5
  or SELECT /*+ MERGE(`p`, `i`) */ p.id, i.stock FROM (SELECT `id` FROM `forum`.`post`) AS `p` JOIN (SELECT `item`.`id`, `item`.`name`, CAST(`item`.`stock` + COALESCE(countermysql_slots.countermysql_1, 0) AS UNSIGNED) AS `stock` FROM (SELECT `item`.`id` AS countermysql_0, SUM(`item`.`stock`) AS countermysql_1 FROM `forum`.`item_slots` AS `item` WHERE `item`.`slot` IS NOT NULL GROUP BY `item`.`id` UNION (SELECT `i`.`id`, 0 FROM post p JOIN item i ON i.id = p.id WHERE (`i`.`id`) NOT IN (SELECT countermysql_slots.`id` FROM `forum`.`item_slots` AS countermysql_slots WHERE countermysql_slots.`slot` IS NOT NULL) ORDER BY i.stock, i.name LIMIT 5)) AS countermysql_slots STRAIGHT_JOIN `forum`.`item` ON countermysql_slots.countermysql_0 = `item`.`id`) AS `i` ON i.id = p.id ORDER BY i.stock, i.name LIMIT 5
  exact for forum.item: every row
  exact for forum.post: every row

SELECT p.id FROM member m LEFT JOIN post p ON p.id = m.id ORDER BY p.likes DESC LIMIT 20
=> sum
  looks by SELECT p.id , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM member m LEFT JOIN post p ON p.id = m.id ORDER BY p.likes DESC LIMIT 20, and no row is an answer
  sends SELECT /*+ MERGE(`p`) */ p.id FROM member m LEFT JOIN (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `p` ON p.id = m.id ORDER BY p.likes DESC LIMIT 20
  exact for forum.post: every row

SELECT p.id FROM post p JOIN member m ON m.id = p.id AND m.name = 'a' ORDER BY p.likes DESC LIMIT 20
=> sum
  looks by SELECT p.id , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post p JOIN member m ON m.id = p.id AND m.name = 'a' ORDER BY p.likes DESC LIMIT 20, and no row is an answer
  sends SELECT /*+ MERGE(`p`) */ p.id FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `p` JOIN member m ON m.id = p.id AND m.name = 'a' ORDER BY p.likes DESC LIMIT 20
  exact for forum.post: every row

SELECT p.id FROM post p JOIN member m ON m.id = p.id WHERE m.name = 'a' ORDER BY p.likes DESC LIMIT 20
=> sum
  looks by SELECT p.id , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post p JOIN member m ON m.id = p.id WHERE m.name = 'a' ORDER BY p.likes DESC LIMIT 20, and no row is an answer
  sends SELECT /*+ MERGE(`p`) */ p.id FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `p` JOIN member m ON m.id = p.id WHERE m.name = 'a' ORDER BY p.likes DESC LIMIT 20
  exact for forum.post: every row

SELECT p.id FROM post p JOIN item i ON i.id = p.id ORDER BY p.likes DESC, i.stock LIMIT 20
=> sum
  looks by SELECT p.id , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`item_slots` AS countermysql_slots), (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post p JOIN item i ON i.id = p.id ORDER BY p.likes DESC, i.stock LIMIT 20, and no row is an answer
  sends SELECT /*+ MERGE(`p`, `i`) */ p.id FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `p` JOIN (SELECT `id`, CAST(`item`.`stock` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`stock`), 0) FROM `forum`.`item_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `item`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`item`.`stock`) >= 0), 0) AS UNSIGNED) AS `stock` FROM `forum`.`item`) AS `i` ON i.id = p.id ORDER BY p.likes DESC, i.stock LIMIT 20
  exact for forum.item: every row
  exact for forum.post: every row

SELECT p.id FROM post p JOIN member m ON m.id = p.id ORDER BY likes DESC LIMIT 20
=> sum
  looks by SELECT p.id , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post p JOIN member m ON m.id = p.id ORDER BY likes DESC LIMIT 20, and no row is an answer
  sends SELECT /*+ MERGE(`p`) */ p.id FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `p` JOIN member m ON m.id = p.id ORDER BY likes DESC LIMIT 20
  exact for forum.post: every row

SELECT p.id FROM post p JOIN post q ON q.id = p.id ORDER BY p.likes DESC LIMIT 20
=> sum
  looks by SELECT p.id , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post p JOIN post q ON q.id = p.id ORDER BY p.likes DESC LIMIT 20, and no row is an answer
  sends SELECT /*+ MERGE(`p`, `q`) */ p.id FROM (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `p` JOIN (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `q` ON q.id = p.id ORDER BY p.likes DESC LIMIT 20
  exact for forum.post: every row

SELECT p.id FROM item i JOIN post p ON p.id = i.id AND i.stock = i.stock ORDER BY p.likes DESC LIMIT 20
=> sum
  looks by SELECT p.id , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`item_slots` AS countermysql_slots), (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM item i JOIN post p ON p.id = i.id AND i.stock = i.stock ORDER BY p.likes DESC LIMIT 20
  sends SELECT /*+ MERGE(`i`, `p`) */ p.id FROM (SELECT `id`, CAST(`item`.`stock` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`stock`), 0) FROM `forum`.`item_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `item`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`item`.`stock`) >= 0), 0) AS UNSIGNED) AS `stock` FROM `forum`.`item`) AS `i` JOIN (SELECT `id`, CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(countermysql_slots.`likes`), 0) FROM `forum`.`post_slots` AS countermysql_slots WHERE countermysql_slots.`id` = `post`.`id` AND countermysql_slots.`slot` IS NOT NULL), 18446744073709551615 + (LENGTH(`post`.`likes`) >= 0), 0) AS SIGNED) AS `likes` FROM `forum`.`post`) AS `p` ON p.id = i.id AND i.stock = i.stock ORDER BY p.likes DESC LIMIT 20
  exact for forum.item: every row
  exact for forum.post: every row

SELECT id, likes FROM post ORDER BY likes DESC FETCH FIRST 3 ROWS ONLY
=> sum
  looks by SELECT id, likes , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM post ORDER BY likes DESC FETCH FIRST 3 ROWS ONLY, and no row is an answer
  sends SELECT /*+ MERGE(`post`) */ id, likes FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `post` ORDER BY likes DESC FETCH FIRST 3 ROWS ONLY
  exact for forum.post: every row

