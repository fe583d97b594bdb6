//! What an EMR does, through the Rust client of openapi-generator; it also sends a batch.
use std::{env, error::Error, path::PathBuf};

use chartledger::apis::configuration::{ApiKey, Configuration};
use chartledger::apis::encounters_api::{list_encounters, upsert_encounter, UpsertEncounterError};
use chartledger::apis::{batches_api::send_batch, documents_api::upload_document, Error as ApiError};
use chartledger::models::{payer_line, BatchLine, BatchResult, Encounter, EncounterPage, Payer, PayerLine};
use serde_json::json;

async fn page(config: &Configuration, token: Option<&str>) -> Result<EncounterPage, Box<dyn Error>> {
    Ok(list_encounters(config, Some(1), token, None, None, None, None, None, None, None, Some(true), None, None).await?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let config = Configuration {
        base_path: env::var("CHARTLEDGER_URL")?,
        api_key: Some(ApiKey { prefix: None, key: env::var("CHARTLEDGER_API_KEY")? }),
        ..Configuration::default()
    };

    let mut encounter = Encounter::new("encounter-1".into(), "patient-1".into());
    encounter.is_completed = Some(Some(true));
    let written = upsert_encounter(&config, encounter, None, None, None, None, None, None).await?;

    let unknown = Encounter::new("encounter-2".into(), "nobody".into());
    let refused = match upsert_encounter(&config, unknown, None, None, None, None, None, None).await {
        Err(ApiError::ResponseError(response)) => match response.entity {
            Some(UpsertEncounterError::Status400(body)) => body.details.unwrap_or_default(),
            entity => return Err(format!("not refused with 400: {entity:?}").into()),
        },
        result => return Err(format!("not refused: {result:?}").into()),
    };

    let report = PathBuf::from(env::var("REPORT")?);
    let uploaded =
        upload_document(&config, "encounter-1", "report-1", "lab_results", report, None, None, None).await?;

    let first = page(&config, None).await?;
    let second = page(&config, first.next_page_token.as_deref()).await?;

    let line = |id: &str| {
        let record = Payer::new(id.into(), "Aetna".into());
        BatchLine::Payer(Box::new(PayerLine::new(payer_line::Kind::Payer, record)))
    };
    let results = send_batch(&config, vec![line("payer-1"), line("payer-2")], None, None, None).await?;
    let results = results.text().await?;
    let stored = results
        .lines()
        .filter_map(|line| serde_json::from_str::<BatchResult>(line).ok())
        .filter_map(|result| result.id)
        .collect::<Vec<_>>();

    let refused = refused.iter().map(|detail| json!([detail.field, detail.id])).collect::<Vec<_>>();
    let items = first.items.iter().chain(&second.items);
    let listed = items.map(|item| json!([item.record.id, item.record.is_completed])).collect::<Vec<_>>();
    println!(
        "{}",
        json!({
            "written": [json!(written.outcome), json!(written.version)],
            "refused": refused,
            "uploaded": uploaded.document_id,
            "listed": listed,
            "batch": stored,
        })
    );
    Ok(())
}
