// What an EMR does, through the Go client of oapi-codegen.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"os"

	"generated/oapi"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func form(fields map[string]string, path string) (*bytes.Buffer, string) {
	file, err := os.ReadFile(path)
	check(err)
	var body bytes.Buffer
	writer := multipart.NewWriter(&body)
	for name, value := range fields {
		check(writer.WriteField(name, value))
	}
	part, err := writer.CreateFormFile("file", "report.pdf")
	check(err)
	_, err = part.Write(file)
	check(err)
	check(writer.Close())
	return &body, writer.FormDataContentType()
}

func main() {
	ctx := context.Background()
	sign := func(_ context.Context, request *http.Request) error {
		request.Header.Set("x-api-key", os.Getenv("CHARTLEDGER_API_KEY"))
		return nil
	}
	url := os.Getenv("CHARTLEDGER_URL")
	client, err := oapi.NewClientWithResponses(url, oapi.WithRequestEditorFn(sign))
	check(err)

	yes, limit := true, 1
	encounter := oapi.Encounter{Id: "encounter-1", PatientId: "patient-1", IsCompleted: &yes}
	written, err := client.UpsertEncounterWithResponse(ctx, nil, encounter)
	check(err)

	unknown := oapi.Encounter{Id: "encounter-2", PatientId: "nobody"}
	failure, err := client.UpsertEncounterWithResponse(ctx, nil, unknown)
	check(err)
	refused := [][]any{}
	for _, detail := range *failure.JSON400.Details {
		refused = append(refused, []any{detail.Field, detail.Id})
	}

	fields := map[string]string{"document_id": "report-1", "category": "lab_results"}
	body, contentType := form(fields, os.Getenv("REPORT"))
	uploaded, err := client.UploadDocumentWithBodyWithResponse(ctx, "encounter-1", nil, contentType, body)
	check(err)

	listed := [][]any{}
	for params := (oapi.ListEncountersParams{Limit: &limit, IsCompleted: &yes}); ; {
		page, err := client.ListEncountersWithResponse(ctx, &params)
		check(err)
		for _, item := range page.JSON200.Items {
			listed = append(listed, []any{item.Record.Id, item.Record.IsCompleted})
		}
		params.PageToken = page.JSON200.NextPageToken
		if params.PageToken == nil {
			break
		}
	}

	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"written":  []any{written.JSON200.Outcome, written.JSON200.Version},
		"refused":  refused,
		"uploaded": uploaded.JSON200.DocumentId,
		"listed":   listed,
	}))
}
