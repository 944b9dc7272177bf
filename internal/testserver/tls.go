package testserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"time"
)

const (
	certificateFile = "cert.pem"
	keyFile         = "key.pem"
)

// WithTLS gives the server a certificate of its own for 127.0.0.1, which it signs itself:
// Debian's MariaDB takes no encrypted connections without one. See Server.Certificate.
func WithTLS() Option {
	return func(o *options) { o.tls = true }
}

// Certificate is the file of the certificate of WithTLS, for who is to trust it.
func (s *Server) Certificate() string { return s.dir.host(certificateFile) }

// certify writes a certificate and its key into the server's folder.
func (d *workDir) certify() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	now := time.Now()
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "countermysql test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	write := func(file, kind string, der []byte) error {
		return os.WriteFile(d.host(file), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
	}
	return errors.Join(write(certificateFile, "CERTIFICATE", signed), write(keyFile, "PRIVATE KEY", private))
}

// tlsArgs are the flags of a server that has a certificate.
func (d *workDir) tlsArgs() []string {
	return []string{"--ssl-cert=" + d.inside(certificateFile), "--ssl-key=" + d.inside(keyFile)}
}
