package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// debianKeys are the keys that Debian's archive is signed with.
const debianKeys = "/usr/share/keyrings/debian-archive-keyring.gpg"

// DebianFiles returns a folder with the files of a package of Debian sid, for
// sources that can't be had as a Go module. Nothing is installed: apt works on
// lists of its own, so it needs neither root nor sid on this machine. What was
// fetched once is kept, whatever sid has meanwhile.
func DebianFiles(ctx context.Context, pkg string, progress func(string)) (string, error) {
	if find("apt-get") == "" || find("dpkg-deb") == "" {
		return "", errors.New("apt-get and dpkg-deb are missing: packages are fetched on Debian and Ubuntu only")
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	unlock, err := lock(ctx, pkg)
	if err != nil {
		return "", err
	}
	defer unlock()
	dir := filepath.Join(cache, "countermysql-"+pkg)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}

	progress("fetching " + pkg + " of Debian sid (apt-get download)")
	temp, err := os.MkdirTemp("", workDirPrefix+"apt-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	deb, err := downloadFromSid(ctx, temp, pkg, progress)
	if err != nil {
		return "", err
	}
	part := dir + ".part" // an interrupted process leaves half of one
	if err := os.RemoveAll(part); err != nil {
		return "", err
	}
	if err := output(ctx, []string{"dpkg-deb", "--extract", deb, part}); err != nil {
		return "", err
	}
	return dir, os.Rename(part, dir)
}

// downloadFromSid lets apt download a package into the folder, which also takes
// the place of all folders of its own. It does take the machine's proxy.
func downloadFromSid(ctx context.Context, dir, pkg string, progress func(string)) (string, error) {
	keysThere := func() bool { _, err := os.Stat(debianKeys); return err == nil }
	if !keysThere() { // on Ubuntu
		if err := apt(ctx, progress, "debian-archive-keyring", keysThere, "debian-archive-keyring"); err != nil {
			return "", err
		}
	}
	for _, d := range []string{"etc/preferences.d", "state/lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return "", err
		}
	}
	files := map[string]string{
		"etc/sources.list": "deb [signed-by=" + debianKeys + "] http://deb.debian.org/debian sid main\n",
		"status":           "", // dpkg's: nothing is installed
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}

	get := []string{
		"env", "-C", dir, "apt-get", "-q",
		"-o", "Dir::Etc=" + filepath.Join(dir, "etc"),
		"-o", "Dir::State=" + filepath.Join(dir, "state"),
		"-o", "Dir::State::status=" + filepath.Join(dir, "status"),
		"-o", "Dir::Cache=" + filepath.Join(dir, "cache"),
		"-o", "APT::Sandbox::User=root", // the folder is ours, and apt's user can't enter
		"-o", "Acquire::Languages=none",
		"-o", "Acquire::Retries=3",
		"-o", "APT::Update::Error-Mode=any", // else lists that can't be fetched are no error
	}
	for _, args := range [][]string{{"update"}, {"download", pkg}} {
		if err := output(ctx, append(get[:len(get):len(get)], args...)); err != nil {
			return "", err
		}
	}
	debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err == nil && len(debs) != 1 {
		err = fmt.Errorf("apt-get download %s left %d packages", pkg, len(debs))
	}
	if err != nil {
		return "", err
	}
	return debs[0], nil
}
