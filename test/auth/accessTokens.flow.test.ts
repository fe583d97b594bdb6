import { decodeJwt, type JWK, SignJWT } from 'jose';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Emr } from '../../src/cli/commands/pull/emr.ts';
import type { Permission } from '../../src/modules/auth/permissions.ts';
import { parsePublicKeys } from '../../src/modules/auth/publicKeys.ts';
import { readAssertionKey } from '../../src/modules/auth/signAssertion.ts';
import { ServiceError } from '../../src/platform/errors.ts';
import type { Client } from '../support/client.ts';
import { clientKeys } from '../support/emr.ts';
import { eventually, LaterClock } from '../support/eventually.ts';
import { bundle, fhirCoverage, fhirEncounter, fhirPatient, freshId, sendFhir } from '../support/fhir.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import {
  accessesBy,
  appendedBy,
  changesBy,
  refusalsBy,
  startFaultyApp,
  type TestService,
} from '../support/service.ts';

const pairs = { RS384: await clientKeys('RS384'), ES384: await clientKeys('ES384', 'key-2') };
const stranger = await clientKeys('ES384', 'key-2');
const TOKEN = '/fhir/token';
const ALL = 'system/*.write';

interface Claims {
  [claim: string]: unknown;
}

onEmbeddedEngines((start) => {
  let service: TestService;
  const clock = new LaterClock();
  beforeAll(async () => {
    service = await start({}, { clock });
  });
  afterAll(() => service.stop());

  /** A key whose holder has both pairs. */
  async function register(
    permissions: Permission[] = ['write'],
    jwks: JWK[] = [pairs.RS384.publicJwk, pairs.ES384.publicJwk],
  ) {
    const made = await service.keys.createKey(service.workspaceId('clinic'), 'EMR', permissions);
    await service.keys.setPublicKeys(made.id, parsePublicKeys({ keys: jwks }));
    return made.id;
  }
  async function assertionOf(
    id: string,
    claims: Claims = {},
    { privateJwk }: { privateJwk: JWK } = pairs.ES384,
  ) {
    const now = Math.floor(clock.now() / 1000);
    const all = { iss: id, sub: id, aud: `${service.url}${TOKEN}`, jti: uuidv7(), exp: now + 240, ...claims };
    const { alg = '', kid = '' } = privateJwk;
    const key = (await readAssertionKey(JSON.stringify(privateJwk))).key;
    return new SignJWT(JSON.parse(JSON.stringify(all)))
      .setProtectedHeader({ alg, kid, typ: 'JWT' })
      .sign(key);
  }
  function request(form: Record<string, string | undefined>, client: Client = service.as(undefined)) {
    const all = {
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      scope: ALL,
      ...form,
    };
    const sent = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    return client.send(TOKEN, { method: 'POST', headers, body: new URLSearchParams(sent).toString() });
  }
  async function tokenOf(id: string, scope = ALL): Promise<Client> {
    const { status, body } = await request({ client_assertion: await assertionOf(id), scope });
    expect(status).toBe(200);
    return bearer(body.access_token);
  }
  /** A client that sends a token, and no API key. */
  function bearer(token: string): Client {
    const client = service.as(undefined);
    const send: Client['send'] = (path, { headers, ...options } = {}) =>
      service
        .as(undefined)
        .send(path, { ...options, headers: { ...headers, authorization: `Bearer ${token}` } });
    return Object.assign(client, { send });
  }
  const sendPatient = (client: Client, id = freshId('patient')) =>
    sendFhir(client, `/fhir/Patient/${id}`, fhirPatient({ id }), {}, 'PUT');

  test('a client with a registered public key gets a token, and its writes are those of the API key', async () => {
    const id = await register();
    for (const pair of Object.values(pairs)) {
      const assertion = await assertionOf(id, {}, pair);
      let answer = await service.as(undefined).get('/fhir/metadata');
      const accesses = await accessesBy(service, async () => {
        answer = await request({ client_assertion: assertion, client_id: id });
      });
      expect(accesses).toEqual([{ action: 'token.issued', query: { scope: ALL } }]);
      expect(answer).toMatchObject({
        status: 200,
        headers: { 'cache-control': 'no-store' },
        body: { token_type: 'bearer', expires_in: 300, scope: ALL },
      });
      const events = await changesBy(service, async () => {
        expect((await sendPatient(bearer(answer.body.access_token))).status).toBe(201);
      });
      expect(events).toMatchObject([
        { type: 'PatientUpserted', metadata: { principal: { type: 'api_key', id } } },
      ]);
    }
  });

  test('the client of pull fhir finds the token endpoint by itself', async () => {
    const id = await register(['read']);
    const key = await readAssertionKey(JSON.stringify(pairs.RS384.privateJwk));
    const emr = new Emr(
      { fhir: new URL(`${service.url}/fhir`), clientId: id, key, scope: 'system/*.rs', tokenUrl: undefined },
      AbortSignal.timeout(30_000),
    );
    const accesses = await accessesBy(service, async () => {
      expect((await emr.request(emr.address('metadata'))).status).toBe(200);
    });
    expect(accesses).toEqual([{ action: 'token.issued', query: { scope: 'system/*.rs' } }]);
  });

  test('of the same assertion in several processes, one gets a token', async () => {
    const id = await register();
    const other = await service.another({ PUBLIC_URL: service.url }, { clock });
    const assertion = await assertionOf(id);
    await eventually(async () =>
      expect((await request({ client_assertion: await assertionOf(id) }, other)).status).toBe(200),
    );
    const answers = await Promise.all(
      [service.as(undefined), other, service.as(undefined), other].map((one) =>
        request({ client_assertion: assertion }, Object.assign(Object.create(one), { key: undefined })),
      ),
    );
    await other.stop();
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401, 401, 401]);
    const refused = answers.find(({ status }) => status === 401);
    expect(refused?.body).toMatchObject({
      error: 'invalid_client',
      error_description: expect.stringContaining('was used before'),
    });
  });

  describe('what is refused with a reason, and written down for a key that was proven', () => {
    let id: string;
    beforeAll(async () => {
      id = await register();
    });
    test.each<[string, () => Promise<Record<string, string | undefined>>, number, string, string, boolean]>([
      [
        'no grant type',
        async () => ({ grant_type: undefined }),
        400,
        'invalid_request',
        'grant_type is required',
        false,
      ],
      [
        'another grant type',
        async () => ({ grant_type: 'password' }),
        400,
        'unsupported_grant_type',
        'client_credentials',
        false,
      ],
      ['no assertion', async () => ({}), 401, 'invalid_client', 'Send a client_assertion', false],
      ['text', async () => ({ client_assertion: 'a.b.c' }), 401, 'invalid_client', 'not a signed JWT', false],
      [
        'an unknown client',
        async () => ({ client_assertion: await assertionOf('key_unknown') }),
        401,
        'invalid_client',
        'No public key',
        false,
      ],
      [
        'an unknown key',
        async () => ({
          client_assertion: await assertionOf(
            id,
            {},
            { privateJwk: { ...pairs.ES384.privateJwk, kid: 'key-3' } },
          ),
        }),
        401,
        'invalid_client',
        'No public key',
        false,
      ],
      [
        'the key of another',
        async () => ({ client_assertion: await assertionOf(id, {}, stranger) }),
        401,
        'invalid_client',
        'No public key',
        false,
      ],
      [
        'another subject',
        async () => ({ client_assertion: await assertionOf(id, { sub: 'key_other' }) }),
        401,
        'invalid_client',
        'The sub',
        false,
      ],
      [
        'another audience',
        async () => ({ client_assertion: await assertionOf(id, { aud: 'https://emr.example/token' }) }),
        401,
        'invalid_client',
        `${TOKEN}.`,
        false,
      ],
      [
        'an expired assertion',
        async () => ({
          client_assertion: await assertionOf(id, { exp: Math.floor(clock.now() / 1000) - 40 }),
        }),
        401,
        'invalid_client',
        'has expired',
        false,
      ],
      [
        'one that lasts',
        async () => ({
          client_assertion: await assertionOf(id, { exp: Math.floor(clock.now() / 1000) + 400 }),
        }),
        401,
        'invalid_client',
        'within five minutes',
        false,
      ],
      [
        'one without an end',
        async () => ({ client_assertion: await assertionOf(id, { exp: undefined }) }),
        401,
        'invalid_client',
        'must have exp',
        false,
      ],
      [
        'one without jti',
        async () => ({ client_assertion: await assertionOf(id, { jti: undefined }) }),
        401,
        'invalid_client',
        'jti',
        false,
      ],
      [
        'another client_id',
        async () => ({ client_assertion: await assertionOf(id), client_id: 'key_other' }),
        401,
        'invalid_client',
        'client_id',
        true,
      ],
      [
        'no scope',
        async () => ({ client_assertion: await assertionOf(id), scope: undefined }),
        400,
        'invalid_scope',
        'Request scopes',
        true,
      ],
      [
        'what the key may not do',
        async () => ({ client_assertion: await assertionOf(id), scope: 'system/*.read user/*.write openid' }),
        400,
        'invalid_scope',
        'Request scopes',
        true,
      ],
    ])('%s', async (_label, form, status, error, description, isProven) => {
      let appended: string[] = [];
      const refusals = await refusalsBy(service, async () => {
        appended = await appendedBy(service, async () => {
          const answer = await request(await form());
          expect({ status: answer.status, ...answer.body }).toEqual({
            ...{ status, error },
            error_description: expect.stringContaining(description),
          });
        });
      });
      expect(appended).toEqual([]);
      expect(refusals.map(({ route, status: recorded }) => [route, recorded])).toEqual(
        isProven ? [[TOKEN, status]] : [],
      );
    });
    test('what is not a form, and a parameter twice', async () => {
      const refusedWith = async (type: string, body: string) => {
        const answer = await service
          .as(undefined)
          .send(TOKEN, { method: 'POST', headers: { 'content-type': type }, body });
        return [answer.status, answer.body.error];
      };
      expect(await refusedWith('application/json', '{}')).toEqual([400, 'invalid_request']);
      const twice = 'scope=system/*.write&scope=system/*.read';
      expect(await refusedWith('application/x-www-form-urlencoded', twice)).toEqual([400, 'invalid_request']);
    });
  });

  test('scopes narrow what a token may write, by the type of the resource', async () => {
    const client = await tokenOf(await register(), 'system/Patient.cruds');
    const patient = fhirPatient({ id: freshId('patient') });
    const subject = { reference: `Patient/${patient.id}` };
    const coverage = fhirCoverage(subject, { display: 'Elm Health' });
    const encounter = fhirEncounter(subject);
    const appended = await appendedBy(service, async () => {
      expect((await sendFhir(client, `/fhir/Coverage/${coverage.id}`, coverage, {}, 'PUT')).status).toBe(403);
      expect((await sendFhir(client, `/fhir/Encounter/${encounter.id}`, encounter, {}, 'PUT')).status).toBe(
        403,
      );
      expect((await sendFhir(client, '/fhir', bundle('batch', patient, coverage))).status).toBe(403);
      const { text } = await client.send('/fhir/$import', {
        method: 'POST',
        headers: { 'content-type': 'application/fhir+ndjson' },
        // Of the second one, the type is known only once it is parsed.
        body: [coverage, { id: coverage.id, ...coverage }].map((line) => JSON.stringify(line)).join('\n'),
      });
      const [first, second, last] = text.split('\n').map((line) => JSON.parse(line || 'null'));
      expect([first.status, second.status, last.summary.refused]).toEqual([403, 403, 2]);
    });
    expect(appended).toEqual([]);
    const written = await changesBy(service, async () => {
      expect((await sendFhir(client, '/fhir', bundle('batch', patient))).status).toBe(200);
    });
    expect(written.map(({ type }) => type)).toEqual(['PatientUpserted']);
  });

  test('a token is for FHIR only', async () => {
    const client = await tokenOf(await register(['write', 'read']));
    const { status, body } = await client.send('/integration/patients', {});
    expect([status, body.code]).toEqual([401, 'unauthorized']);
  });

  test('a token ends after five minutes, and with its key, its public key or its workspace', async () => {
    const id = await register();
    const client = await tokenOf(id);
    const statusNow = async () => (await sendPatient(client)).status;
    expect(await statusNow()).toBe(201);
    const ends = async (status: number) => eventually(async () => expect(await statusNow()).toBe(status));
    await service.keys.setKeyState(id, 'deactivated');
    await ends(403);
    expect((await request({ client_assertion: await assertionOf(id) })).body).toEqual({
      error: 'invalid_client',
      error_description: 'The API key is deactivated.',
    });
    await service.keys.setKeyState(id, 'active');
    await ends(201);
    await service.keys.setWorkspaceState(service.workspaceId('clinic'), 'deactivated');
    await ends(403);
    await service.keys.setWorkspaceState(service.workspaceId('clinic'), 'active');
    await ends(201);
    await service.keys.setPublicKeys(id, parsePublicKeys(pairs.RS384.publicJwk));
    await ends(401);
    await service.keys.setPublicKeys(id, parsePublicKeys(pairs.ES384.publicJwk));
    await ends(201);
    clock.aheadMs = 301_000;
    const { status, body } = await sendPatient(client);
    expect([status, body.issue[0].diagnostics]).toEqual([401, expect.stringContaining('has expired')]);
    clock.aheadMs = 0;
    await service.keys.setKeyState(id, 'deleted');
    await ends(401);
  });

  test('a token that the service did not sign is refused', async () => {
    const id = await register();
    const own = (await request({ client_assertion: await assertionOf(id) })).body.access_token;
    const [head, , signature] = own.split('.');
    const more = Buffer.from(JSON.stringify({ ...decodeJwt(own), scope: 'system/*.*' })).toString(
      'base64url',
    );
    for (const forged of [`${head}.${more}.${signature}`, await assertionOf(id), 'a.b.c'])
      expect((await sendPatient(bearer(forged))).status).toBe(401);
  });

  test('the replacement of a key has its public keys', async () => {
    const id = await register();
    const { id: replacement } = await service.keys.rotateKey(id, 3_600);
    expect((await sendPatient(await tokenOf(replacement))).status).toBe(201);
  });

  test('its SMART configuration says how a token is requested, and the CapabilityStatement that it has one', async () => {
    const client = service.as(undefined);
    expect((await client.get('/fhir/.well-known/smart-configuration')).body).toMatchObject({
      token_endpoint: `${service.url}${TOKEN}`,
      token_endpoint_auth_methods_supported: ['private_key_jwt'],
      token_endpoint_auth_signing_alg_values_supported: ['RS384', 'ES384'],
    });
    const [{ security }] = (await client.get('/fhir/metadata')).body.rest;
    expect(security.service[0].coding[0].code).toBe('SMART-on-FHIR');
    expect((await client.get(TOKEN)).status).toBe(405);
  });

  test('while the state store is away, an assertion is refused with 503 and can be sent again', async () => {
    const id = await register();
    const unavailable = () => Promise.reject(new ServiceError('unavailable', 'The state store is away.'));
    const faulty = await startFaultyApp(service, { stateStore: { swap: unavailable } });
    const assertion = await assertionOf(id, { aud: `${faulty.url}${TOKEN}` });
    const appended = await appendedBy(service, async () => {
      const { status, body } = await request({ client_assertion: assertion }, faulty);
      expect([status, body.error]).toEqual([503, 'temporarily_unavailable']);
    });
    expect(appended).toEqual([]);
    await faulty.stop();
  });
});
