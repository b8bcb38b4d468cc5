package main

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"os"

	"example.com/nginx-operator/test/load"
)

// control serves the API that controls a run.
func control(running *load.Run) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/submit", func(w http.ResponseWriter, r *http.Request) {
		revision := r.URL.Query().Get("revision")
		if revision == "" {
			http.Error(w, "revision is missing", http.StatusBadRequest)
			return
		}
		running.Submit(revision)
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /v1/report", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, running.Report())
	})
	mux.HandleFunc("POST /v1/stop", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, running.Stop())
	})
	return mux
}

func answer(w http.ResponseWriter, report load.Report) {
	w.Header().Set("Content-Type", "application/json")
	// The client may be gone.
	_ = json.NewEncoder(w).Encode(report)
}

// echo reads a request and describes it: the method, the length of the body and its CRC-32.
func echo(w http.ResponseWriter, r *http.Request) {
	sum := crc32.NewIEEE()
	n, err := io.Copy(sum, r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, _ = fmt.Fprintf(w, "%s %d %x\n", r.Method, n, sum.Sum32())
}

// file reads the file for each request, because the time of its change is measured.
func file(w http.ResponseWriter, _ *http.Request, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	_, _ = w.Write(text)
}
