-- name: CreatePost :execlastid
INSERT INTO post (slug, likes, views, shares, updated_at) VALUES (?, ?, ?, ?, ?);

-- name: Like :execrows
UPDATE post SET likes = likes + 1 WHERE id = ?;

-- name: LikeBy :execresult
-- Times are of the application.
UPDATE post SET likes = likes + sqlc.arg(n), updated_at = sqlc.arg(updated_at) WHERE slug = sqlc.arg(slug);

-- name: View :exec
UPDATE post SET views = views + ? WHERE id IN (sqlc.slice(ids));

-- name: Share :execrows
UPDATE post SET shares = COALESCE(shares, 0) + 1 WHERE id = ?;

-- name: TakeLikes :execrows
UPDATE post SET likes = likes - sqlc.arg(n) WHERE id = sqlc.arg(id) AND likes >= sqlc.arg(n);

-- name: ResetViews :execrows
UPDATE post SET views = 0 WHERE views > ?;

-- name: Hit :exec
INSERT INTO page (host, day, hits) VALUES (?, ?, 1) ON DUPLICATE KEY UPDATE hits = hits + 1;

-- name: GetPost :one
SELECT * FROM post WHERE id = ?;

-- name: LockPost :one
SELECT * FROM post WHERE slug = ? FOR UPDATE;

-- name: TopPosts :many
SELECT slug, likes, likes + views AS score FROM post ORDER BY likes DESC, id LIMIT ?;

-- name: LikesOf :many
SELECT likes FROM post WHERE likes > ? ORDER BY id;

-- name: HitsByHost :many
SELECT host, SUM(hits) AS total, COUNT(*) AS days FROM page GROUP BY host HAVING SUM(hits) > 0 ORDER BY host;

-- name: CountLiked :one
SELECT COUNT(*) FROM post WHERE likes > 0;

-- name: DeletePost :execrows
DELETE FROM post WHERE id = ?;
