package postgres

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// array is a parameter in Postgres' binary form of an array. pgx encodes a slice value by value, each through an interface and
// a plan; of a group of commits that was a quarter of all that a step allocated.
type array []byte

// arrayHeader is one dimension, whether there are NULLs, the type of the elements, their number, and the first one's index,
// 4 bytes each, high byte first.
const arrayHeader = 20

func newArray(elem uint32, n, bytes int) array {
	a := make(array, 0, arrayHeader+4*n+bytes)
	for _, v := range []uint32{1, 0, elem, uint32(n), 1} {
		a = binary.BigEndian.AppendUint32(a, v)
	}
	return a
}

// element appends the length that goes before a value's bytes.
func (a array) element(n int) array { return binary.BigEndian.AppendUint32(a, uint32(n)) }

// null appends a NULL, and says in the header that there is one.
func (a array) null() array {
	a[7] = 1
	return binary.BigEndian.AppendUint32(a, 1<<32-1)
}

// sized is an array on its way into a statement. pgx lays the parameters one behind the other and would copy what is there at each step.
type sized struct {
	array
	room int // for it and those behind it
}

// arrays gives the parameters with those that are slices of the types in this package's statements in binary form.
func arrays(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case []string:
			out[i] = textArray(v)
		case [][]byte:
			out[i] = byteaArray(v)
		case []int64:
			out[i] = int8Array(v)
		case []int32:
			a := newArray(pgtype.Int4OID, len(v), 4*len(v))
			for _, n := range v {
				a = binary.BigEndian.AppendUint32(a.element(4), uint32(n))
			}
			out[i] = a
		case []bool:
			a := newArray(pgtype.BoolOID, len(v), len(v))
			for _, b := range v {
				a = append(a.element(1), 0)
				if b {
					a[len(a)-1] = 1
				}
			}
			out[i] = a
		case []pgtype.UUID:
			a := newArray(pgtype.UUIDOID, len(v), 16*len(v))
			for _, u := range v {
				a = append(a.element(16), u.Bytes[:]...)
			}
			out[i] = a
		case []pgtype.Timestamptz:
			out[i] = timeArray(v)
		default:
			out[i] = arg
		}
	}
	room := 0
	for i, v := range slices.Backward(out) {
		if a, ok := v.(array); ok {
			room += len(a)
			out[i] = sized{a, room}
		}
	}
	return out
}

func textArray(v []string) array {
	bytes := 0
	for _, s := range v {
		bytes += len(s)
	}
	a := newArray(pgtype.TextOID, len(v), bytes)
	for _, s := range v {
		a = append(a.element(len(s)), s...)
	}
	return a
}

// byteaArray: nil is NULL.
func byteaArray(v [][]byte) array {
	bytes := 0
	for _, b := range v {
		bytes += len(b)
	}
	a := newArray(pgtype.ByteaOID, len(v), bytes)
	for _, b := range v {
		if b == nil {
			a = a.null()
			continue
		}
		a = append(a.element(len(b)), b...)
	}
	return a
}

func int8Array(v []int64) array {
	a := newArray(pgtype.Int8OID, len(v), 8*len(v))
	for _, n := range v {
		a = binary.BigEndian.AppendUint64(a.element(8), uint64(n))
	}
	return a
}

// epoch is where Postgres counts microseconds from.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func timeArray(v []pgtype.Timestamptz) array {
	a := newArray(pgtype.TimestamptzOID, len(v), 8*len(v))
	for _, t := range v {
		if !t.Valid {
			a = a.null()
			continue
		}
		a = binary.BigEndian.AppendUint64(a.element(8), uint64(t.Time.UnixMicro()-epoch.UnixMicro()))
	}
	return a
}

// arrayCodec is pgx's codec of an array type that takes a sized one, too.
type arrayCodec struct{ pgtype.Codec }

// PlanEncode implements pgtype.Codec.
func (c arrayCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.(sized); ok && format == pgtype.BinaryFormatCode {
		return encodeArray{}
	}
	return c.Codec.PlanEncode(m, oid, format, value)
}

type encodeArray struct{}

// Encode implements pgtype.EncodePlan.
func (encodeArray) Encode(value any, buf []byte) ([]byte, error) {
	a := value.(sized)
	if cap(buf)-len(buf) < len(a.array) {
		buf = append(make([]byte, 0, len(buf)+a.room), buf...)
	}
	return append(buf, a.array...), nil
}

// params gives a statement's parameters in the form that a connection takes. Where statements are not prepared, the types of the
// parameters are not known, and pgx finds them by Go's.
func (s *Store) params(args []any) []any {
	if s.pooled {
		return args
	}
	return arrays(args)
}

// takeArrays teaches a connection to take arrays.
func takeArrays(m *pgtype.Map) {
	for _, oid := range []uint32{pgtype.TextArrayOID, pgtype.ByteaArrayOID, pgtype.Int8ArrayOID, pgtype.Int4ArrayOID, pgtype.BoolArrayOID, pgtype.UUIDArrayOID, pgtype.TimestamptzArrayOID} {
		if t, ok := m.TypeForOID(oid); ok {
			m.RegisterType(&pgtype.Type{Name: t.Name, OID: oid, Codec: arrayCodec{t.Codec}})
		}
	}
}
