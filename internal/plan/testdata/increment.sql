UPDATE post SET likes = likes + ? WHERE id = ?
=> increment
  tries UPDATE post SET likes = likes + ? WHERE ( id = ?) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL
  goes with others: likes has no bound
  adds to forum.post.likes: + argument 1
  where id = {argument 2}
  exact for forum.post: id = {argument 2}
  writes forum.post: (id = argument 2)

UPDATE post SET likes = likes - 1 WHERE id = 7
=> increment
  tries UPDATE post SET likes = likes - 1 WHERE ( id = 7) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL
  adds to forum.post.likes: - 1
  where id = 7
  exact for forum.post: id = 7
  writes forum.post: (id = 7)

UPDATE post SET likes = ? + likes WHERE id = ?
=> increment
  tries UPDATE post SET likes = ? + likes WHERE ( id = ?) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL
  goes with others: likes has no bound
  adds to forum.post.likes: + argument 1
  where id = {argument 2}
  exact for forum.post: id = {argument 2}
  writes forum.post: (id = argument 2)

UPDATE post SET likes = likes + 1, views = views + ? WHERE id = ?
=> increment
  tries UPDATE post SET likes = likes + 1, views = views + ? WHERE ( id = ?) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL
  adds to forum.post.likes: + 1
  adds to forum.post.views: + argument 1
  where id = {argument 2}
  exact for forum.post: id = {argument 2}
  writes forum.post: (id = argument 2)

UPDATE `forum`.`post` SET `likes` = `likes` + 1 WHERE `id` = 1;
=> increment
  tries UPDATE `forum`.`post` SET `likes` = `likes` + 1 WHERE ( `id` = 1) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL;
  adds to forum.post.likes: + 1
  where `id` = 1
  exact for forum.post: `id` = 1
  writes forum.post: (id = 1)

update POST set LIKES = LIKES + 1 where ID = 1
=> verbatim

update post set LIKES = LIKES + 1 where ID = 1
=> increment
  tries update post set LIKES = LIKES + 1 where ( ID = 1) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL
  adds to forum.post.likes: + 1
  where ID = 1
  exact for forum.post: ID = 1
  writes forum.post: (id = 1)

UPDATE post AS p SET p.likes = p.likes + 1 WHERE (p.id = 1)
=> increment
  tries UPDATE post AS p SET p.likes = p.likes + 1 WHERE ( (p.id = 1)) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `p`.`id` LOCK IN SHARE MODE) IS NULL
  adds to forum.post.likes: + 1
  where (p.id = 1)
  exact for forum.post: (p.id = 1)
  writes forum.post: (id = 1)

UPDATE post SET likes = likes + 1 WHERE slug = ?
=> increment
  tries UPDATE post SET likes = likes + 1 WHERE ( slug = ?) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL
  adds to forum.post.likes: + 1
  where slug = {argument 1}
  exact for forum.post: slug = {argument 1}
  writes forum.post: (slug = argument 1)

UPDATE post SET likes = likes + 1 WHERE id IN (?, ?, 3)
=> increment
  adds to forum.post.likes: + 1
  where id IN ({argument 1}, {argument 2}, 3)
  exact for forum.post: id IN ({argument 1}, {argument 2}, 3)
  writes forum.post: (id = argument 1) (id = argument 2) (id = 3)

UPDATE page SET hits = hits + 1.50 WHERE day = ? AND page = ?
=> increment
  tries UPDATE page SET hits = hits + 1.50 WHERE ( day = ? AND page = ?) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`page_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`day` = `page`.`day` AND countermysql_slots.`page` = `page`.`page` LOCK IN SHARE MODE) IS NULL
  adds to forum.page.hits: + 1.50
  where day = {argument 1} AND page = {argument 2}
  exact for forum.page: day = {argument 1} AND page = {argument 2}
  writes forum.page: (day = argument 1, page = argument 2)

UPDATE hits SET cnt = cnt + 1
=> increment
  adds to forum.hits.cnt: + 1
  where TRUE
  exact for forum.hits: every row
  writes forum.hits: ()

UPDATE `post` SET `likes`=likes + ? WHERE `post`.`deleted_at` IS NULL AND `id` = ?
=> increment
  tries UPDATE `post` SET `likes`=likes + ? WHERE ( `post`.`deleted_at` IS NULL AND `id` = ?) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL
  goes with others: likes has no bound
  adds to forum.post.likes: + argument 1
  where `post`.`deleted_at` IS NULL AND `id` = {argument 2}
  exact for forum.post: `post`.`deleted_at` IS NULL AND `id` = {argument 2}
  writes forum.post: (id = argument 2)

UPDATE post SET likes = COALESCE(`post`.`likes`, 0) + ? WHERE id = ?
=> increment
  tries UPDATE post SET likes = COALESCE(`post`.`likes`, 0) + ? WHERE ( id = ?) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL
  adds to forum.post.likes: + argument 1
  where id = {argument 2}
  exact for forum.post: id = {argument 2}
  writes forum.post: (id = argument 2)

UPDATE post SET likes = IFNULL(likes, 0) + 1 WHERE id = ?
=> increment
  tries UPDATE post SET likes = IFNULL(likes, 0) + 1 WHERE ( id = ?) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL
  adds to forum.post.likes: + 1
  where id = {argument 1}
  exact for forum.post: id = {argument 1}
  writes forum.post: (id = argument 1)

-- name: LikePost :exec
UPDATE post SET likes = likes + 1 WHERE id = ?
=> increment
  tries -- name: LikePost :exec
UPDATE post SET likes = likes + 1 WHERE ( id = ?) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL
  adds to forum.post.likes: + 1
  where id = {argument 1}
  exact for forum.post: id = {argument 1}
  writes forum.post: (id = argument 1)

UPDATE post SET likes = (likes + (1)) WHERE (id = 1) /* hot */
=> increment
  tries UPDATE post SET likes = (likes + (1)) WHERE ( (id = 1)) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL /* hot */
  adds to forum.post.likes: + 1
  where (id = 1)
  exact for forum.post: (id = 1)
  writes forum.post: (id = 1)

UPDATE post SET likes = likes + -1 WHERE id = 1
=> increment
  tries UPDATE post SET likes = likes + -1 WHERE ( id = 1) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL
  adds to forum.post.likes: + -1
  where id = 1
  exact for forum.post: id = 1
  writes forum.post: (id = 1)

UPDATE item SET stock = stock + ?, updated_at = NOW() WHERE id = ?
=> increment
  tries UPDATE item SET stock = stock + ?, updated_at = NOW() WHERE ( id = ?) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL
  goes with others: stock has no bound
  adds to forum.item.stock: + argument 1
  touches updated_at
  where id = {argument 2}
  exact for forum.item: id = {argument 2}
  writes forum.item: (id = argument 2)

UPDATE item SET stock = stock + ?, updated_at = ? WHERE id = ?
=> increment
  tries UPDATE item SET stock = stock + ?, updated_at = ? WHERE ( id = ?) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL
  goes with others: stock has no bound
  adds to forum.item.stock: + argument 1
  touches updated_at
  where id = {argument 3}
  exact for forum.item: id = {argument 3}
  writes forum.item: (id = argument 3)

UPDATE item SET stock = stock - 1 WHERE id = ?
=> increment
  tries UPDATE item SET stock = stock - 1 WHERE ( id = ?) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`item_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `item`.`id` LOCK IN SHARE MODE) IS NULL
  adds to forum.item.stock: - 1
  where id = {argument 1}
  exact for forum.item: id = {argument 1}
  writes forum.item: (id = argument 1)

INSERT INTO page (day, page, hits) VALUES (?, ?, 1) ON DUPLICATE KEY UPDATE hits = hits + 1
=> increment
  adds to forum.page.hits: + 1
  row day = argument 1, page = argument 2
  exact for forum.page: (day = argument 1, page = argument 2)
  writes forum.page: (day = argument 1, page = argument 2)
  clears left-over slots of forum.page: (day = argument 1, page = argument 2)

INSERT INTO page (day, page, hits) VALUES (?, ?, ?), (?, ?, ?) ON DUPLICATE KEY UPDATE hits = hits + VALUES(hits)
=> increment
  adds to forum.page.hits: + the inserted value
  row day = argument 1, page = argument 2
  row day = argument 4, page = argument 5
  exact for forum.page: (day = argument 1, page = argument 2) (day = argument 4, page = argument 5)
  writes forum.page: (day = argument 1, page = argument 2) (day = argument 4, page = argument 5)
  clears left-over slots of forum.page: (day = argument 1, page = argument 2) (day = argument 4, page = argument 5)

INSERT INTO page (day, page, hits) VALUES (?, ?, 1) AS new ON DUPLICATE KEY UPDATE hits = page.hits + new.hits
=> increment
  adds to forum.page.hits: + the inserted value
  row day = argument 1, page = argument 2
  exact for forum.page: (day = argument 1, page = argument 2)
  writes forum.page: (day = argument 1, page = argument 2)
  clears left-over slots of forum.page: (day = argument 1, page = argument 2)

INSERT INTO page (day, page, hits) VALUES (CURRENT_DATE, ?, 1) ON DUPLICATE KEY UPDATE hits = hits + 1
=> increment
  adds to forum.page.hits: + 1
  row day = CURRENT_DATE(), page = argument 1
  exact for forum.page: (day = CURRENT_DATE(), page = argument 1)
  writes forum.page: (day = CURRENT_DATE(), page = argument 1)
  clears left-over slots of forum.page: (day = CURRENT_DATE(), page = argument 1)

UPDATE page SET hits = hits + 1 WHERE day = CURDATE() AND page = 'x'
=> increment
  tries UPDATE page SET hits = hits + 1 WHERE ( day = CURDATE() AND page = 'x') AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`page_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`day` = `page`.`day` AND countermysql_slots.`page` = `page`.`page` LOCK IN SHARE MODE) IS NULL
  adds to forum.page.hits: + 1
  where day = CURDATE() AND page = 'x'
  exact for forum.page: day = CURDATE() AND page = 'x'
  writes forum.page: (day = CURRENT_DATE(), page = x)

UPDATE post SET likes = likes + 1 /*T! , views = views + 7 */ WHERE id = 1
=> increment
  tries UPDATE post SET likes = likes + 1 /*T! , views = views + 7 */ WHERE ( id = 1) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL
  adds to forum.post.likes: + 1
  where id = 1
  exact for forum.post: id = 1
  writes forum.post: (id = 1)

