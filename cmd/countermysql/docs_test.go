package main

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

const operations = "../../docs/operations.md"

// block is a fenced code block.
type block struct{ language, text string }

func blocksOf(t *testing.T, file string) (all []block) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, m := range regexp.MustCompile("(?s)```(\\w*)\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		all = append(all, block{m[1], m[2]})
	}
	require.NotEmpty(t, all)
	return all
}

// TestOperations runs every block of docs/operations.md, in order, on both
// servers: SQL as an administrator, the tool's commands as the user they are
// granted to, with the exit code that is written beside them.
func TestOperations(t *testing.T) {
	t.Setenv("COUNTERMYSQL_CONFIG", "")
	servers, err := testserver.Shared(t.Context())
	require.NoError(t, err)
	for _, srv := range servers {
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			name := "docs_" + strconv.Itoa(os.Getpid())
			own := func(text string) string { return regexp.MustCompile(`\bforum`).ReplaceAllString(text, name) }
			admin, err := sql.Open("mysql", srv.DSN("", "multiStatements=true"))
			require.NoError(t, err)
			defer admin.Close()
			admin.SetMaxOpenConns(1) // USE is for all that follows
			exec := func(stmt string) {
				t.Helper()
				_, err := admin.Exec(stmt)
				require.NoError(t, err, stmt)
			}
			exec("DROP DATABASE IF EXISTS " + name + "; CREATE DATABASE " + name + "; USE " + name)
			defer exec(own("DROP DATABASE " + name + "; DROP USER IF EXISTS forum_app, forum_admin"))
			dsn := func(user string) string {
				cfg, err := mysql.ParseDSN(srv.DSN(name))
				require.NoError(t, err)
				if user != "" {
					cfg.User, cfg.Passwd = own(user), "secret"
				}
				return cfg.FormatDSN()
			}
			user, config, commands := "", filepath.Join(t.TempDir(), "counters.yaml"), 0
			for _, b := range blocksOf(t, operations) {
				switch b.language {
				case "sql":
					exec(own(b.text))
					if strings.Contains(b.text, "forum_admin") {
						user = "forum_admin"
					}
				case "yaml":
					require.NoError(t, os.WriteFile(config, []byte(b.text), 0o600))
				case "sh":
					for line := range strings.Lines(b.text) {
						runLine(t, strings.TrimSpace(line), "--dsn", dsn(user), "--config", config)
						commands++
					}
				}
			}
			require.Greater(t, commands, 15)
			require.NotEmpty(t, user)
			var likes, comments, tables int
			require.NoError(t, admin.QueryRow("SELECT SUM(likes), SUM(comments) FROM post").Scan(&likes, &comments))
			require.Zero(t, likes+comments)
			require.NoError(t, admin.QueryRow("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME LIKE '%slots'", name).Scan(&tables))
			require.Zero(t, tables)

			app, err := sql.Open("countermysql", dsn("forum_app")+"?counters=post.likes") // with what it was granted
			require.NoError(t, err)
			defer app.Close()
			exec(own("CREATE TABLE post_slots (id INT NOT NULL, slot SMALLINT UNSIGNED NOT NULL, likes BIGINT NOT NULL DEFAULT 0, comments BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (id, slot))"))
			for _, stmt := range []string{"UPDATE post SET likes = likes + 1 WHERE id = 1", "UPDATE post SET likes = likes * 2 WHERE id = 1", "DELETE FROM post WHERE id = 2"} {
				_, err := app.ExecContext(t.Context(), stmt)
				require.NoError(t, err)
			}
		})
	}
}

var argument = regexp.MustCompile(`'[^']*'|\S+`)

// runLine runs one command as a shell would.
func runLine(t *testing.T, line string, more ...string) {
	t.Helper()
	command, comment, _ := strings.Cut(line, "  #")
	wants := map[int]bool{}
	if m := regexp.MustCompile(`exit code (\d)(?: or (\d))?`).FindStringSubmatch(line); m != nil {
		for _, code := range m[1:] {
			if n, err := strconv.Atoi(code); err == nil {
				wants[n] = true
			}
		}
	} else {
		wants[exitOK] = true
	}
	args := argument.FindAllString(command, -1)
	require.Equal(t, "countermysql", args[0])
	for i := range args {
		args[i] = strings.Trim(args[i], "'")
	}
	ctx := t.Context()
	if strings.Contains(comment, "until interrupted") {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 1500*time.Millisecond)
		defer cancel()
		wants = map[int]bool{exitInterrupted: true}
	}
	if args[1] == "drop" { // no process has to notice
		more = append(more, "--wait", "1s")
	}
	var stdout, stderr bytes.Buffer
	code := run(ctx, append(args[1:], more...), strings.NewReader(""), &stdout, &stderr)
	require.True(t, wants[code], "exit code %d: %s\n%s%s", code, line, &stdout, &stderr)
}

// TestReadmeTrial proves that what the README has one do on a copy of a database works, until
// that is left again.
func TestReadmeTrial(t *testing.T) {
	t.Setenv("COUNTERMYSQL_CONFIG", "")
	forEachServer(t, func(t *testing.T, o *tool) {
		o.exec(o.plain, "ALTER TABLE post ADD COLUMN likes INT NOT NULL DEFAULT 0")
		commands := 0
		for _, b := range blocksOf(t, "../../README.md") {
			for line := range strings.Lines(b.text) {
				if strings.HasPrefix(line, "countermysql ") {
					runLine(t, strings.TrimSpace(line), "--dsn", o.dsn+"?counters=post.likes")
					commands++
				}
			}
		}
		require.Equal(t, 5, commands)
	})
}

// TestOperationsProgram proves that the programs of docs/operations.md compile.
func TestOperationsProgram(t *testing.T) {
	found := false
	for _, b := range blocksOf(t, operations) {
		if b.language != "go" {
			continue
		}
		found = true
		dir, err := os.MkdirTemp(".", "docs") // in the module, whose dependencies it has
		require.NoError(t, err)
		defer os.RemoveAll(dir)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(b.text), 0o600))
		out, err := exec.Command("go", "vet", "./"+dir).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	require.True(t, found)
}
