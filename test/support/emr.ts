import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createLocalJWKSet, exportJWK, generateKeyPair, type JWK, jwtVerify } from 'jose';
import { expect } from 'vitest';

interface BulkFile {
  type: string;
  lines: object[];
}

/** What an EMR has to be exported or found. */
export interface EmrContents {
  output: BulkFile[];
  deleted?: BulkFile[];
  error?: BulkFile[];
}

/** A small FHIR server with SMART Backend Services, Bulk Data and searches; it checks what a client must send. */
export class TestEmr {
  readonly requests: string[] = [];
  readonly url: string;
  contents: EmrContents = { output: [] };
  transactionTime = '2026-03-14T09:30:00.000Z';
  /** Called with each request, before its answer; a status is the answer. */
  onRequest: (line: string) => number | undefined | Promise<number | undefined> = () => undefined;
  readonly #jwks: ReturnType<typeof createLocalJWKSet>;
  readonly #tokens = new Set<string>();
  readonly #used = new Set<string>();
  readonly #close: () => Promise<void>;
  #polls = 0;

  private constructor(url: string, jwks: { keys: JWK[] }, close: () => Promise<void>) {
    this.url = url;
    this.#jwks = createLocalJWKSet(jwks);
    this.#close = close;
  }

  /** Starts one that knows these public keys. */
  static async start(keys: JWK[]): Promise<TestEmr> {
    const server = createServer((req, res) => void emr.#answer(req, res));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/fhir`;
    const emr = new TestEmr(url, { keys }, async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    });
    return emr;
  }

  stop(): Promise<void> {
    return this.#close();
  }

  /** Ends every token: the next requests are refused. */
  endTokens(): void {
    this.#tokens.clear();
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(`${this.url.replace(/\/fhir$/, '')}${req.url}`);
    const line = `${req.method} ${pathname}${[...searchParams].map(([name, value]) => ` ${name}=${value}`).join('')}`;
    this.requests.push(line);
    const json = (status: number, body: object, headers: Record<string, string> = {}) =>
      res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
    const fault = await this.onRequest(line);
    if (fault !== undefined) return void res.writeHead(fault, { 'retry-after': '0' }).end();
    if (pathname === '/fhir/.well-known/smart-configuration') {
      return void json(200, { token_endpoint: `${this.url}/token` });
    }
    if (pathname === '/fhir/token') return this.#issue(req, json);
    const token = req.headers.authorization?.replace('Bearer ', '') ?? '';
    if (!this.#tokens.has(token)) return void json(401, {});
    this.#serve(req, line, pathname, searchParams, res, json);
  }

  async #issue(req: IncomingMessage, json: (status: number, body: object) => unknown): Promise<void> {
    const form = new URLSearchParams(await text(req));
    try {
      const { payload, protectedHeader } = await jwtVerify(form.get('client_assertion') ?? '', this.#jwks, {
        ...{ issuer: 'chartledger', subject: 'chartledger', audience: `${this.url}/token` },
        algorithms: ['RS384', 'ES384'],
      });
      expect([form.get('grant_type'), form.get('scope'), protectedHeader.typ]).toEqual([
        ...['client_credentials', 'system/*.rs', 'JWT'],
      ]);
      expect(Number(payload.exp) - Date.now() / 1000).toBeLessThanOrEqual(300);
      if (this.#used.has(String(payload.jti))) throw new Error('replayed');
      this.#used.add(String(payload.jti));
    } catch {
      return void json(400, { error: 'invalid_client' });
    }
    const token = `token-${this.#used.size}`;
    this.#tokens.add(token);
    json(200, { access_token: token, token_type: 'bearer', expires_in: 300 });
  }

  #serve(
    req: IncomingMessage,
    line: string,
    path: string,
    query: URLSearchParams,
    res: ServerResponse,
    json: (status: number, body: object, headers?: Record<string, string>) => unknown,
  ): void {
    const files = Object.entries(this.contents).flatMap(([list, of]) =>
      (of as BulkFile[]).map((file, index) => ({ ...file, list, url: `${this.url}/files/${list}-${index}` })),
    );
    if (path === '/fhir/Group/billing/$export') {
      expect([req.headers.prefer, query.get('_outputFormat')]).toEqual([
        ...['respond-async', 'application/fhir+ndjson'],
      ]);
      this.#polls = 0;
      res.writeHead(202, { 'content-location': `${this.url}/jobs/1` }).end();
    } else if (line === 'GET /fhir/jobs/1') {
      this.#polls += 1;
      if (this.#polls < 3) return void res.writeHead(202, { 'retry-after': '0', 'x-progress': 'busy' }).end();
      const listed = (list: string) =>
        files.filter((file) => file.list === list).map(({ type, url }) => ({ type, url }));
      const { transactionTime } = this;
      const [output, deleted, error] = ['output', 'deleted', 'error'].map(listed);
      json(200, { transactionTime, requiresAccessToken: true, request: 'x', output, deleted, error });
    } else if (line === 'DELETE /fhir/jobs/1') res.writeHead(202).end();
    else if (path.startsWith('/fhir/files/')) {
      const file = files.find(({ url }) => url.endsWith(path.replace('/fhir', '')));
      res.writeHead(200, { 'content-type': 'application/fhir+ndjson' });
      res.end(file?.lines.map((one) => `${JSON.stringify(one)}\n`).join(''));
    } else this.#search(path.slice('/fhir/'.length), Number(query.get('page') ?? 0), json);
  }

  /** One resource a page. */
  #search(type: string, page: number, json: (status: number, body: object) => unknown): void {
    const found = this.contents.output.filter((file) => file.type === type).flatMap(({ lines }) => lines);
    const link = page + 1 < found.length && [
      { relation: 'next', url: `${this.url}/${type}?page=${page + 1}` },
    ];
    const entry = found.slice(page, page + 1).map((resource) => ({ resource, search: { mode: 'match' } }));
    json(200, { resourceType: 'Bundle', type: 'searchset', entry, ...(link && { link }) });
  }
}

/** A new key pair as JWKs, with which a client of SMART Backend Services authenticates. */
export async function clientKeys(
  alg: 'RS384' | 'ES384',
  kid = 'key-1',
): Promise<{ privateJwk: JWK; publicJwk: JWK }> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const named = { kid, alg, use: 'sig' };
  return {
    privateJwk: { ...(await exportJWK(privateKey)), ...named },
    publicJwk: { ...(await exportJWK(publicKey)), ...named },
  };
}
