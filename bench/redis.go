package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/countermysql/countermysql/internal/testserver"
)

// redisServer is a Redis to compare with.
type redisServer struct {
	*testserver.Redis // nil: of another process
	addr              string
	peer              peer
	version           string
}

var redisPeers = []peer{redisAlways, redisEverySecond}

func startRedis(ctx context.Context, progress func(string)) (all []*redisServer, err error) {
	for _, p := range redisPeers {
		srv, err := testserver.StartRedis(ctx, p.appendfsync, testserver.WithProgress(progress))
		if err != nil {
			return all, err
		}
		r := &redisServer{Redis: srv, addr: srv.Addr(), peer: p}
		all = append(all, r)
		c := r.client(1)
		info, err := c.Info(ctx, "server").Result()
		if err == nil {
			err = c.Close()
		}
		if err != nil {
			return all, fmt.Errorf("redis: %w", err)
		}
		_, info, _ = strings.Cut(info, "redis_version:")
		r.version, _, _ = strings.Cut(info, "\r\n")
	}
	return all, nil
}

func (r *redisServer) client(connections int) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:                     r.addr,
		PoolSize:                 connections,
		MaxRetries:               -1, // an INCR sent twice counts twice
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// redisStore keeps a counter in a key.
type redisStore struct{ client *redis.Client }

// open empties the server, and opens all connections.
func (r *redisServer) open(ctx context.Context, clients int) (*redisStore, error) {
	c := r.client(clients)
	if err := c.FlushAll(ctx).Err(); err != nil {
		return nil, err
	}
	conns := make([]*redis.Conn, clients)
	for i := range conns {
		conns[i] = c.Conn()
		if err := conns[i].Ping(ctx).Err(); err != nil {
			return nil, err
		}
	}
	for _, conn := range conns {
		if err := conn.Close(); err != nil {
			return nil, err
		}
	}
	return &redisStore{c}, nil
}

func redisKey(id int) string { return "post:" + strconv.Itoa(id) + ":likes" }

func (r *redisStore) increment(ctx context.Context, id int) error {
	return r.client.Incr(ctx, redisKey(id)).Err()
}

// read returns 0 for a counter that nobody has incremented.
func (r *redisStore) read(ctx context.Context, id int) (int64, error) {
	n, err := r.client.Get(ctx, redisKey(id)).Int64()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return n, err
}

func (r *redisStore) values(ctx context.Context, ids []int) (map[int]int64, error) {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = redisKey(id)
	}
	found, err := r.client.MGet(ctx, keys...).Result()
	if err != nil {
		return nil, err
	}
	values := make(map[int]int64, len(ids))
	for i, v := range found {
		text, ok := v.(string)
		if !ok {
			continue
		}
		if values[ids[i]], err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func (r *redisStore) close() { _ = r.client.Close() }
