import { openAsBlob } from 'node:fs';
import {
  Configuration,
  DocumentsApi,
  EncountersApi,
  ErrorBodyFromJSON,
  ResponseError,
  UploadDocumentCategoryEnum,
} from './typescript-fetch/index.js';

// What an EMR does, through the client of openapi-generator's typescript-fetch.
const { CHARTLEDGER_URL = '', CHARTLEDGER_API_KEY = '', REPORT = '' } = process.env;
const configuration = new Configuration({ basePath: CHARTLEDGER_URL, apiKey: CHARTLEDGER_API_KEY });
const encounters = new EncountersApi(configuration);

const encounter = { id: 'encounter-1', patientId: 'patient-1', isCompleted: true };
const { outcome, version } = await encounters.upsertEncounter({ encounter });

const unknown = { id: 'encounter-2', patientId: 'nobody' };
const error: unknown = await encounters.upsertEncounter({ encounter: unknown }).catch((error) => error);
if (!(error instanceof ResponseError)) throw error;
const { details = [] } = ErrorBodyFromJSON(await error.response.json());

const uploaded = await new DocumentsApi(configuration).uploadDocument({
  id: 'encounter-1',
  documentId: 'report-1',
  category: UploadDocumentCategoryEnum.LabResults,
  file: new File([await openAsBlob(REPORT)], 'report.pdf'),
});

const listed: [string, boolean | undefined][] = [];
for (let token: string | null | undefined; token !== null; ) {
  const page = await encounters.listEncounters({
    limit: 1,
    isCompleted: true,
    ...(token !== undefined && { pageToken: token }),
  });
  for (const { record } of page.items) listed.push([record.id, record.isCompleted]);
  token = page.nextPageToken;
}

const refused = details.map(({ field, id }) => [field, id]);
process.stdout.write(
  JSON.stringify({ written: [outcome, version], refused, uploaded: uploaded.documentId, listed }),
);
