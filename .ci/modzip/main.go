// Modzip puts a module into a file proxy, as a module proxy would serve it:
//
//	go run .ci/modzip/main.go DIR MODULE VERSION PROXY
//
// See https://go.dev/ref/mod#goproxy-protocol and https://go.dev/ref/mod#zip-files.
package main

import (
	"archive/zip"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 5 {
		log.Fatal("usage: modzip DIR MODULE VERSION PROXY")
	}
	if err := put(os.Args[1], os.Args[2], os.Args[3], filepath.Join(os.Args[4], os.Args[2], "@v")); err != nil {
		log.Fatal(err)
	}
}

func put(dir, module, version, to string) error {
	if module != strings.ToLower(module) {
		return fmt.Errorf("%s has upper case, which a proxy escapes", module)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"list": version + "\n", version + ".mod": string(mod), version + ".info": fmt.Sprintf(`{"Version":%q,"Time":"2020-01-01T00:00:00Z"}`, version)} {
		if err := os.WriteFile(filepath.Join(to, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	f, err := os.Create(filepath.Join(to, version+".zip"))
	if err != nil {
		return err
	}
	w := zip.NewWriter(f)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case d.IsDir() && path != dir:
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
				return filepath.SkipDir // a module of its own
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		part, err := w.Create(module + "@" + version + "/" + filepath.ToSlash(name))
		if err == nil {
			_, err = part.Write(text)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close()
}
