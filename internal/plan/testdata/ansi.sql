UPDATE "post" SET "likes" = "likes" + 1 WHERE "id" = 1
=> increment
  tries UPDATE "post" SET "likes" = "likes" + 1 WHERE ( "id" = 1) AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL
  adds to forum.post.likes: + 1
  where "id" = 1
  exact for forum.post: "id" = 1
  writes forum.post: (id = 1)

UPDATE post SET likes = likes + 1 WHERE slug = 'a\'
=> increment
  tries UPDATE post SET likes = likes + 1 WHERE ( slug = 'a\') AND (SELECT 18446744073709551615 + (1 + 0 * countermysql_slots.`slot`) FROM `forum`.`post_slots` AS countermysql_slots FORCE INDEX (PRIMARY) WHERE countermysql_slots.`id` = `post`.`id` LOCK IN SHARE MODE) IS NULL
  adds to forum.post.likes: + 1
  where slug = 'a\'
  exact for forum.post: slug = 'a\'
  writes forum.post: (slug = a\)

SELECT "likes" FROM "forum"."post" AS "p"
=> sum
  looks by SELECT "likes" , (SELECT MIN(countermysql_slots.`id`) IS NOT NULL FROM `forum`.`post_slots` AS countermysql_slots) FROM "forum"."post" AS "p", and no row is an answer
  sends SELECT /*+ MERGE(`p`) */ "likes" FROM (SELECT `post`.`id`, CAST(`post`.`likes` + COALESCE(countermysql_slots.countermysql_1, 0) AS SIGNED) AS `likes` FROM `forum`.`post` LEFT JOIN (SELECT `post`.`id` AS countermysql_0, SUM(`post`.`likes`) AS countermysql_1 FROM `forum`.`post_slots` AS `post` WHERE `post`.`slot` IS NOT NULL GROUP BY `post`.`id`) AS countermysql_slots ON countermysql_slots.countermysql_0 = `post`.`id`) AS `p`
  exact for forum.post: every row

INSERT INTO log (text) VALUES ('post \')
=> verbatim

SELECT "post" FROM user
=> verbatim

