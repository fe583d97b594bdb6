// A read without an audit trail: a row by its primary key, parsed, and returned as JSON by node:http.
import { createServer } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { bodyOf } from '../support/load/bodies.ts';

const db = new DatabaseSync(join(process.env.DATA_DIR as string, 'bare-read.db'));
db.exec('PRAGMA journal_mode = WAL; CREATE TABLE patients (id TEXT PRIMARY KEY, body TEXT NOT NULL)');
const insert = db.prepare('INSERT INTO patients (id, body) VALUES (?, ?)');
db.exec('BEGIN');
for (let index = 0; index < Number(process.env.RECORDS); index++) {
  const body = bodyOf('patients', index);
  insert.run(JSON.parse(body).id, body);
}
db.exec('COMMIT');
const find = db.prepare('SELECT body FROM patients WHERE id = ?');

createServer((req, res) => {
  const id = decodeURIComponent(req.url?.split('/').at(-1) ?? '');
  const row = find.get(id) as { body: string } | undefined;
  if (row === undefined) {
    res.writeHead(404).end();
    return;
  }
  const answer = Buffer.from(JSON.stringify(JSON.parse(row.body)));
  res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': answer.length });
  res.end(answer);
}).listen(Number(process.env.PORT), '127.0.0.1');
