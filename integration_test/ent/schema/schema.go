// Package schema is what ent generates its code from.
package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
)

// Clock is the program's.
var Clock = time.Now

func now() time.Time { return Clock() }

// Post has counters of several kinds.
type Post struct{ ent.Schema }

func (Post) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "posts"}}
}

func (Post) Fields() []ent.Field {
	return []ent.Field{
		field.String("slug").Unique().MaxLen(64),
		field.String("title").Default(""),
		field.Int64("likes").Default(0),
		field.Uint32("views").Default(0),
		field.Int("shares").Optional().Nillable(),
		field.Time("updated_at").Default(now).UpdateDefault(now),
	}
}

func (Post) Edges() []ent.Edge {
	return []ent.Edge{edge.To("comments", Comment.Type)}
}

// Comment belongs to a post.
type Comment struct{ ent.Schema }

func (Comment) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "comments"}}
}

func (Comment) Fields() []ent.Field {
	return []ent.Field{
		field.String("body"),
		field.Int32("votes").Default(0),
	}
}

func (Comment) Edges() []ent.Edge {
	return []ent.Edge{edge.From("post", Post.Type).Ref("comments").Unique().Required()}
}

// Hit is upserted. Its key is its own: an upsert of an existing row burns an id
// of AUTO_INCREMENT on the plain driver only.
type Hit struct{ ent.Schema }

func (Hit) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "hits"}}
}

func (Hit) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").MaxLen(32),
		field.Int64("hits").Default(1),
		field.Time("updated_at").Default(now).UpdateDefault(now),
	}
}
