package api

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"reprise/host/api/wire"
)

func schemaOf(api huma.API, v any) *huma.Schema {
	return api.OpenAPI().Components.Schemas.Schema(reflect.TypeOf(v), true, "")
}

// describe is the OpenAPI document. huma's own error model is left out: no response uses it.
func describe(api huma.API) []byte {
	doc := api.OpenAPI()
	delete(doc.Components.Schemas.Map(), "ErrorModel")
	delete(doc.Components.Schemas.Map(), "ErrorDetail")
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("openapi: %v", err)) // the document is made of constants
	}
	return append(b, '\n')
}

// OpenAPI is the description of the API, the same for every Config.
func OpenAPI() []byte { return New(Config{}).openapi }

// jsonBody describes a request body that readBody reads.
func jsonBody(schema *huma.Schema, required bool) *huma.RequestBody {
	return &huma.RequestBody{
		Required: required,
		Content:  map[string]*huma.MediaType{"application/json": {Schema: schema}},
	}
}

// bytesBody describes a request body that is taken as it is.
func bytesBody(contentType, description string, required bool) *huma.RequestBody {
	return &huma.RequestBody{
		Description: description,
		Required:    required,
		Content:     map[string]*huma.MediaType{contentType: {Schema: &huma.Schema{Type: "string", Format: "binary"}}},
	}
}

// writeJSON writes an answer. A failure to write is not told: the client is gone, and huma would panic.
func writeJSON(w io.Writer, v any) error {
	b, err := wire.Marshal(v)
	if err == nil {
		_, _ = w.Write(append(b, '\n'))
	}
	return err
}
