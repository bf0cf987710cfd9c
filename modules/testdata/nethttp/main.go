// Program nethttp is what a guest that serves and calls HTTP, with TLS and templates, is compiled to.
package main

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"os"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewEncoder(w).Encode(r.Header); err != nil {
			fmt.Println(err)
		}
	})
	page := template.Must(template.New("page").Parse("<p>{{.}}</p>"))
	res, err := http.Get("https://localhost/")
	fmt.Println(res, err, page.Execute(os.Stdout, "hello"))
	fmt.Println(http.ListenAndServe("localhost:0", nil))
}
