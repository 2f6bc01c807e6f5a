// Package seal closes a webhook delivery so that one home computer alone can
// open it: HPKE (RFC 9180) in base mode, one shot, a fresh encapsulated key each
// time, so that whoever sealed it cannot open it a moment later.
//
// The cryptography is that of crypto/hpke; this package chooses the suite and what
// a seal is bound to. It does not know what it seals, and does no I/O.
package seal

import (
	"crypto/ecdh"
	"crypto/hpke"
	"errors"
	"strconv"
	"time"
)

// info binds a seal to its use: what was sealed with the same key for another one
// does not open here.
const info = "holdmail/delivery/v1"

// ErrOpen is what Open returns for whatever was not sealed for this key under this
// id and time. It does not say which of them is wrong.
var ErrOpen = errors.New("the seal does not open with this key, id and time")

// form is a version of the setup code, and the suite it stands for.
type form struct {
	tag          string // of the setup code
	kem          hpke.KEM
	encapsulated int // bytes of the encapsulated key, which a seal starts with
}

// forms are all we know, the usual one first. The second costs 1,088 bytes more a
// delivery, and holds against a computer that breaks X25519 later on.
func forms() []form {
	return []form{
		{tag: "hm1", kem: hpke.DHKEM(ecdh.X25519()), encapsulated: 32},
		{tag: "hm2", kem: hpke.MLKEM768X25519(), encapsulated: 1120},
	}
}

// Seal closes plaintext for the home computer. The id and the time, to the
// millisecond, stay in the clear beside it, and it opens with the same ones only.
func (s Setup) Seal(id string, received time.Time, plaintext []byte) ([]byte, error) {
	encapsulated, sender, err := hpke.NewSender(s.public, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(info))
	if err != nil {
		return nil, err
	}
	sealed, err := sender.Seal(beside(id, received), plaintext)
	if err != nil {
		return nil, err
	}
	return append(encapsulated, sealed...), nil
}

// Open returns what was sealed under this id and time, or ErrOpen.
func (k Key) Open(id string, received time.Time, sealed []byte) ([]byte, error) {
	if len(sealed) < k.form.encapsulated {
		return nil, ErrOpen
	}
	encapsulated, sealed := sealed[:k.form.encapsulated], sealed[k.form.encapsulated:]
	recipient, err := hpke.NewRecipient(encapsulated, k.private, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte(info))
	if err != nil {
		return nil, ErrOpen
	}
	plaintext, err := recipient.Open(beside(id, received), sealed)
	if err != nil {
		return nil, ErrOpen
	}
	return plaintext, nil
}

// beside is what a seal is bound to and does not hide.
func beside(id string, received time.Time) []byte {
	return strconv.AppendInt([]byte(id+"."), received.UnixMilli(), 10)
}
