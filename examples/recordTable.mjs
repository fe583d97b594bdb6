// Builds a table of records. It may be killed and started again at any time: rows and position are stored together.
import { setTimeout as sleep } from 'node:timers/promises';

const { DatabaseSync } = await import('node:sqlite').catch(() => {
  process.stderr.write('Node 22.13 or later is needed, for node:sqlite.\n');
  process.exit(1);
});
const {
  CHARTLEDGER_URL = 'http://127.0.0.1:3000',
  CHARTLEDGER_API_KEY,
  KINDS = 'payer,patient,provider,facility,encounter',
  TABLE = 'records.db',
} = process.env;
const db = new DatabaseSync(TABLE);
// Others may read the table at the same time; one that writes to it is waited for. What is erased is overwritten.
db.exec(`PRAGMA busy_timeout = 60000; PRAGMA journal_mode = WAL; PRAGMA secure_delete = ON;
  CREATE TABLE IF NOT EXISTS records (subject TEXT PRIMARY KEY, version INTEGER, fields TEXT);
  CREATE TABLE IF NOT EXISTS progress (id INTEGER PRIMARY KEY, position TEXT)`);
const select = db.prepare('SELECT fields FROM records WHERE subject = ?');
const replace = db.prepare('REPLACE INTO records VALUES (?, ?, ?)');
const remove = db.prepare('DELETE FROM records WHERE subject = ?');
const progress = db.prepare('REPLACE INTO progress VALUES (1, ?)');
let position = db.prepare('SELECT position FROM progress').get()?.position ?? '0';

/** The next page. A service that is away, busy or limits requests is asked again. */
async function nextPage() {
  const url = `${CHARTLEDGER_URL}/events?kinds=${KINDS}&wait=30&after=${position}`;
  for (;;) {
    let pause = 1;
    try {
      const page = await fetch(url, { headers: { 'x-api-key': CHARTLEDGER_API_KEY } });
      const text = await page.text();
      if (page.ok) return { text, position: page.headers.get('chartledger-position') };
      if (page.status !== 429 && page.status < 500) throw new Error(`${page.status} ${text}`);
      pause = Number(page.headers.get('retry-after')) || pause;
    } catch (error) {
      // What fetch rejects with when there is no connection, or no longer.
      if (!(error instanceof TypeError)) throw error;
    }
    await sleep(pause * 1000);
  }
}

const isErasure = ({ type }) => type.endsWith('.erased.v1');

/**
 * An erasure removes the record: one that is sent under the same id later begins with nothing. Otherwise a sent field
 * replaces the one before it, an insurance as a whole; null clears it; the others stay. Other types are not of records.
 */
function apply({ type, subject, data }) {
  if (isErasure({ type })) remove.run(subject);
  if (!type.endsWith('.upserted.v1')) return;
  const before = JSON.parse(select.get(subject)?.fields ?? '{}');
  const fields = JSON.stringify({ ...before, ...data.sent }, (_, value) => value ?? undefined);
  replace.run(subject, data.version, fields);
}

for (;;) {
  const page = await nextPage();
  const lines = page.text.split('\n').slice(0, -1);
  const events = lines.map((line) => JSON.parse(line));
  db.exec('BEGIN IMMEDIATE');
  for (const event of events) apply(event);
  progress.run(page.position);
  db.exec('COMMIT');
  // Until a checkpoint, the write-ahead log still has what was erased.
  if (events.some(isErasure)) db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  position = page.position;
}
