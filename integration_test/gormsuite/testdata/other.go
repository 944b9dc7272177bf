// Package other stands for GORM's drivers of databases that are not tested here.
package other

import (
	"errors"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
)

// Config has what the tests set.
type Config struct {
	DSN                  string
	PreferSimpleProtocol bool
}

type dialector struct{ mysql.Dialector }

func (dialector) Initialize(*gorm.DB) error { return errors.New("another database") }

// Open returns what can't be opened.
func Open(string) gorm.Dialector { return dialector{} }

// New returns what can't be opened.
func New(Config) gorm.Dialector { return dialector{} }
