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
// Others may read the table meanwhile; one that writes to it is waited for.
db.exec(`PRAGMA busy_timeout = 60000; PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS records (subject TEXT PRIMARY KEY, version INTEGER, fields TEXT);
  CREATE TABLE IF NOT EXISTS progress (id INTEGER PRIMARY KEY, position TEXT)`);
const select = db.prepare('SELECT fields FROM records WHERE subject = ?');
const replace = db.prepare('REPLACE INTO records VALUES (?, ?, ?)');
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

/** A sent field replaces the one before it, an insurance as a whole; null clears it; the others stay. */
function apply({ subject, data }) {
  const before = JSON.parse(select.get(subject)?.fields ?? '{}');
  const fields = JSON.stringify({ ...before, ...data.sent }, (_, value) => value ?? undefined);
  replace.run(subject, data.version, fields);
}

for (;;) {
  const page = await nextPage();
  db.exec('BEGIN IMMEDIATE');
  for (const line of page.text.split('\n').slice(0, -1)) apply(JSON.parse(line));
  progress.run(page.position);
  db.exec('COMMIT');
  position = page.position;
}
