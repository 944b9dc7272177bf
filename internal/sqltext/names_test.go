package sqltext

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNames(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
		err  error
	}{
		{"post", []string{"post"}, nil},
		{"db.post.likes.x", []string{"db", "post", "likes", "x"}, nil},
		{" db . post ", []string{"db", "post"}, nil},
		{"`my db`.`my.table`", []string{"my db", "my.table"}, nil},
		{"`a``b`.```a```", []string{"a`b", "`a`"}, nil},
		{"` a `", []string{" a "}, nil},
		{"````", []string{"`"}, nil},
		{"", nil, ErrNameEmpty},
		{"a..b", nil, ErrNameEmpty},
		{"a.", nil, ErrNameEmpty},
		{"``", nil, ErrNameEmpty},
		{"`", nil, ErrNameQuotes},
		{"```", nil, ErrNameQuotes},
		{"`a", nil, ErrNameQuotes},
		{"a`", nil, ErrNameQuotes},
		{"a`.b`", nil, ErrNameQuotes},
		{"`a`b`", nil, ErrNameQuotes},
		{"`a` `b`", nil, ErrNameQuotes},
		{"\xff", nil, ErrNameEncoding},
		{"a\x00", nil, ErrNameEncoding},
		{strings.Repeat("ж", 65), nil, ErrNameTooLong},
	} {
		got, err := SplitName(test.text)
		if test.err != nil {
			require.Equal(t, test.err, err, "%q", test.text)
			continue
		}
		require.NoError(t, err, "%q", test.text)
		require.Equal(t, test.want, got)
		again, err := SplitName(JoinName(got...))
		require.NoError(t, err)
		require.Equal(t, got, again)
	}
	require.Equal(t, "db.`my.table`.`a``b`.` c`.d", JoinName("db", "my.table", "a`b", " c", "d"))
	require.Equal(t, "`a``b`", Quote("a`b"))
	require.Equal(t, "``", Quote(""))
}
