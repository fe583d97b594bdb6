// What an EMR does, through the Go client of openapi-generator.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	chartledger "generated/go"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	configuration := chartledger.NewConfiguration()
	configuration.Servers = chartledger.ServerConfigurations{{URL: os.Getenv("CHARTLEDGER_URL")}}
	configuration.AddDefaultHeader("x-api-key", os.Getenv("CHARTLEDGER_API_KEY"))
	client := chartledger.NewAPIClient(configuration)
	ctx := context.Background()

	encounter := chartledger.NewEncounter("encounter-1", "patient-1")
	encounter.SetIsCompleted(true)
	written, _, err := client.EncountersAPI.UpsertEncounter(ctx).Encounter(*encounter).Execute()
	check(err)

	unknown := chartledger.NewEncounter("encounter-2", "nobody")
	_, _, err = client.EncountersAPI.UpsertEncounter(ctx).Encounter(*unknown).Execute()
	var failure *chartledger.GenericOpenAPIError
	if !errors.As(err, &failure) {
		panic("not refused")
	}
	refused := [][]string{}
	body := failure.Model().(chartledger.ErrorBody)
	for _, detail := range body.Details {
		refused = append(refused, []string{detail.Field, detail.GetId()})
	}

	report, err := os.Open(os.Getenv("REPORT"))
	check(err)
	uploaded, _, err := client.DocumentsAPI.UploadDocument(ctx, "encounter-1").
		DocumentId("report-1").Category("lab_results").File(report).Execute()
	check(err)

	listed := [][]any{}
	for request := client.EncountersAPI.ListEncounters(ctx).Limit(1).IsCompleted(true); ; {
		page, _, err := request.Execute()
		check(err)
		for _, item := range page.Items {
			listed = append(listed, []any{item.Record.Id, item.Record.GetIsCompleted()})
		}
		token := page.NextPageToken.Get()
		if token == nil {
			break
		}
		request = request.PageToken(*token)
	}

	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"written":  []any{written.Outcome, written.Version},
		"refused":  refused,
		"uploaded": uploaded.DocumentId,
		"listed":   listed,
	}))
}
