// What a user would write instead: Express, the same schema, one durable UPSERT per request, no history.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import express from 'express';
import { patient as patientKind } from '../../../src/domain/records/kinds/patient.ts';
import { payer as payerKind } from '../../../src/domain/records/kinds/payer.ts';

const db = new DatabaseSync(join(process.env.DATA_DIR as string, 'peer.db'));
db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE payers (id TEXT PRIMARY KEY, body TEXT NOT NULL);
  CREATE TABLE patients (id TEXT PRIMARY KEY, body TEXT NOT NULL);`);
const upsert = (table: string) =>
  db.prepare(
    `INSERT INTO ${table} (id, body) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body`,
  );
const upsertPayer = upsert('payers');
const upsertPatient = upsert('patients');
const findPayer = db.prepare('SELECT id FROM payers WHERE id = ?');

const app = express();
app.use(express.json());
app.post('/integration/payers', (req, res) => {
  const payer = payerKind.schema.parse(req.body);
  upsertPayer.run(payer.id, JSON.stringify(payer));
  res.json({ success: true, message: 'Payer saved' });
});
app.post('/integration/patients', (req, res) => {
  const { success, data: patient } = patientKind.schema.safeParse(req.body);
  if (!success) {
    res.status(400).json({ error: 'Validation failed' });
    return;
  }
  for (const insurance of [
    patient.primary_insurance,
    patient.secondary_insurance,
    patient.tertiary_insurance,
  ]) {
    if (insurance && findPayer.get(insurance.payer_id) === undefined) {
      res.status(400).json({ error: `Payer '${insurance.payer_id}' does not exist` });
      return;
    }
  }
  upsertPatient.run(patient.id, JSON.stringify(patient));
  res.json({ success: true, message: 'Patient saved' });
});
app.listen(Number(process.env.PORT), '127.0.0.1');
