package testkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"reprise/abi"
)

// fileAnswer is the form of an answer in a file of cases.
type fileAnswer struct {
	When       json.RawMessage `json:"when"` // what the input must have in it
	Times      int             `json:"times"`
	Output     json.RawMessage `json:"output"`
	OutputText *string         `json:"output_text"`
	HTTP       *fileHTTP       `json:"http"`
	Failure    *abi.Failure    `json:"failure"`
	After      string          `json:"after"`
	Never      bool            `json:"never"`
}

// fileHTTP is the answer of a server, for http.request.
type fileHTTP struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	JSON    json.RawMessage   `json:"json"`
	Body    *string           `json:"body"`
}

// readMocks reads the mocks of a case: an answer, or a list of them, by name.
func readMocks(files map[string]json.RawMessage) (map[string]Mock, error) {
	mocks := map[string]Mock{}
	for name, raw := range files {
		var answers []fileAnswer
		var err error
		if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
			err = strict(raw, &answers)
		} else {
			answers = make([]fileAnswer, 1)
			err = strict(raw, &answers[0])
		}
		if err == nil && len(answers) == 0 {
			err = errors.New("it has no answer")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for i, f := range answers {
			a, err := f.read()
			if err != nil {
				return nil, fmt.Errorf("%s: answer %d: %w", name, i+1, err)
			}
			mocks[name] = append(mocks[name], a)
		}
	}
	return mocks, nil
}

func (f fileAnswer) read() (a Answer, err error) {
	a = Answer{Times: f.Times, Failure: f.Failure, Never: f.Never}
	given := slices.DeleteFunc([]bool{f.Output != nil || f.OutputText != nil, f.HTTP != nil, f.Failure != nil, f.Never}, func(b bool) bool { return !b })
	if len(given) > 1 {
		return a, errors.New("output, http, failure and never are there together; keep one")
	}
	if f.Failure != nil && f.Failure.Code == "" {
		return a, errors.New("the failure has no code")
	}
	if f.Times < 0 {
		return a, errors.New("times is negative")
	}
	if a.Output, err = payload(f.Output, f.OutputText); err != nil {
		return a, err
	}
	if f.HTTP != nil {
		if a.Output, err = f.HTTP.encode(); err != nil {
			return a, err
		}
	}
	if f.After != "" {
		if a.After, err = parseDuration(f.After); err != nil {
			return a, err
		}
	}
	if f.When != nil {
		want, err := decodeJSON(f.When)
		if err != nil {
			return a, err
		}
		a.When = func(c Call) bool {
			got, err := decodeJSON(c.Input)
			return err == nil && len(difference("", got, want, true)) == 0
		}
	}
	return a, nil
}

// encode is the outcome of http.request.
func (h fileHTTP) encode() ([]byte, error) {
	out := struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
	}{Status: h.Status, Headers: h.Headers}
	if out.Status == 0 {
		out.Status = 200
	}
	if out.Headers == nil {
		out.Headers = map[string]string{}
	}
	switch {
	case h.JSON != nil && h.Body != nil:
		return nil, errors.New("http has json and body; keep one")
	case h.JSON != nil:
		body, err := payload(h.JSON, nil)
		if err != nil {
			return nil, err
		}
		out.Body = string(body)
		if out.Headers["content-type"] == "" {
			out.Headers["content-type"] = "application/json"
		}
	case h.Body != nil:
		out.Body = *h.Body
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(out)
	return bytes.TrimSpace(b.Bytes()), err
}
