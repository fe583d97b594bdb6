// Builds a table of encounters. It may be killed and started again at any time: rows and position are stored together.
import { DatabaseSync } from 'node:sqlite';

const {
  CHARTLEDGER_URL = 'http://127.0.0.1:3000',
  CHARTLEDGER_API_KEY,
  TABLE = 'encounters.db',
} = process.env;
const db = new DatabaseSync(TABLE);
db.exec(`CREATE TABLE IF NOT EXISTS encounters (id TEXT PRIMARY KEY, version INTEGER, fields TEXT);
  CREATE TABLE IF NOT EXISTS progress (id INTEGER PRIMARY KEY, position TEXT)`);
// json_patch is JSON Merge Patch: a sent field replaces, null clears, the others stay.
const upsert = db.prepare(`INSERT INTO encounters VALUES (:id, :version, json_patch('{}', :sent))
  ON CONFLICT (id) DO UPDATE SET version = :version, fields = json_patch(fields, :sent)`);
const progress = db.prepare('REPLACE INTO progress VALUES (1, ?)');
let position = db.prepare('SELECT position FROM progress').get()?.position ?? '0';
for (;;) {
  const url = `${CHARTLEDGER_URL}/events?kinds=encounter&wait=30&after=${position}`;
  const page = await fetch(url, { headers: { 'x-api-key': CHARTLEDGER_API_KEY } });
  if (!page.ok) throw new Error(`${page.status} ${await page.text()}`);
  const events = (await page.text())
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  position = page.headers.get('chartledger-position');
  db.exec('BEGIN');
  for (const { data } of events)
    upsert.run({ id: data.sent.id, version: data.version, sent: JSON.stringify(data.sent) });
  progress.run(position);
  db.exec('COMMIT');
}
