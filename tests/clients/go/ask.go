// Asks for the URLs it is given by net/http, and prints a line of JSON for each.
package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
)

func get(url string) (int, string, error) {
	response, err := http.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

func main() {
	for _, url := range os.Args[1:] {
		line := map[string]any{"url": url}
		if status, body, err := get(url); err != nil {
			line["error"] = err.Error()
		} else {
			line["status"], line["body"] = status, body
		}
		json.NewEncoder(os.Stdout).Encode(line)
	}
}
