// The peer with MongoDB in place of SQLite: acknowledged by a majority, in the journal.
import express from 'express';
import { MongoClient } from 'mongodb';
import { patient as patientKind } from '../../../src/domain/records/kinds/patient.ts';
import { payer as payerKind } from '../../../src/domain/records/kinds/payer.ts';

const client = await MongoClient.connect(process.env.MONGODB_URL as string, {
  writeConcern: { w: 'majority', journal: true },
});
const db = client.db(process.env.DATABASE as string);
const payers = db.collection<{ _id: string }>('payers');
const patients = db.collection<{ _id: string }>('patients');

const app = express();
app.use(express.json());
app.post('/integration/payers', async (req, res) => {
  const payer = payerKind.schema.parse(req.body);
  await payers.updateOne({ _id: payer.id }, { $set: payer }, { upsert: true });
  res.json({ success: true, message: 'Payer saved' });
});
app.post('/integration/patients', async (req, res) => {
  const { success, data: patient } = patientKind.schema.safeParse(req.body);
  if (!success) {
    res.status(400).json({ error: 'Validation failed' });
    return;
  }
  const payerId = patient.primary_insurance?.payer_id;
  if (payerId && !(await payers.findOne({ _id: payerId }))) {
    res.status(400).json({ error: `Payer '${payerId}' does not exist` });
    return;
  }
  await patients.updateOne({ _id: patient.id }, { $set: patient }, { upsert: true });
  res.json({ success: true, message: 'Patient saved' });
});
app.listen(Number(process.env.PORT), '127.0.0.1');
process.once('SIGTERM', async () => {
  await db.dropDatabase();
  process.exit(0);
});
