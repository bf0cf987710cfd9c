package testkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlToJSON gives a YAML document as JSON, with fields in their order and numbers as they are written. JSON is YAML, but for
// what has its bytes kept here because it is JSON already.
func yamlToJSON(b []byte) ([]byte, error) {
	if json.Valid(b) {
		return b, nil
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 {
		return []byte("[]"), nil
	}
	var out bytes.Buffer
	err := appendYAML(&out, doc.Content[0])
	return out.Bytes(), err
}

func appendYAML(out *bytes.Buffer, n *yaml.Node) error {
	switch n.Kind {
	case yaml.MappingNode:
		out.WriteByte('{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				out.WriteByte(',')
			}
			if k := n.Content[i]; k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
				return fmt.Errorf("line %d: a field's name is no plain text", k.Line)
			}
			if err := appendText(out, n.Content[i].Value); err != nil {
				return err
			}
			out.WriteByte(':')
			if err := appendYAML(out, n.Content[i+1]); err != nil {
				return err
			}
		}
		out.WriteByte('}')
		return nil
	case yaml.SequenceNode:
		out.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := appendYAML(out, item); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	case yaml.ScalarNode:
		return appendScalar(out, n)
	}
	return fmt.Errorf("line %d: an alias of YAML is not taken", n.Line)
}

// appendScalar writes numbers that JSON can write as they stand there, and other numbers as YAML reads them.
func appendScalar(out *bytes.Buffer, n *yaml.Node) error {
	var v any
	switch n.Tag {
	case "!!null":
		out.WriteString("null")
		return nil
	case "!!bool", "!!int", "!!float":
		if n.Tag != "!!bool" && json.Valid([]byte(n.Value)) {
			out.WriteString(n.Value)
			return nil
		}
		if err := n.Decode(&v); err != nil {
			return fmt.Errorf("line %d: %w", n.Line, err)
		}
		b, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("line %d: %q is no value of JSON", n.Line, n.Value)
		}
		out.Write(b)
		return nil
	}
	return appendText(out, n.Value)
}

func appendText(out *bytes.Buffer, s string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	out.Write(bytes.TrimSpace(b.Bytes()))
	return err
}
