import { makeStores } from '../../bench/support/chartledger.ts';
import type { Outcome, Scenario, Torture } from '../scenario.ts';
import { runProgram } from '../support/runProgram.ts';
import { TorturedService } from '../support/TorturedService.ts';

const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'ignored_auth',
  'allow_header_conformance',
];
/** A response that lasts for as long as somebody reads it, and bodies that schemathesis cannot generate. */
const LEFT_OUT = '^/(events|hl7/v2|integration/batch)$';
const UPLOAD = 'uploadDocument';
const MOST_TOLD = 40;

/** Has schemathesis check every response against the document with which the service describes itself. */
export const schema: Scenario = {
  name: 'schema',
  description:
    'Schemathesis, where it is on the path, makes requests of what `GET /openapi/json` says, valid ones and others: examples, boundaries and by chance. No answer may be a 5xx or one that the document does not know, by its status, media type, headers or schema.',
  async run(torture: Torture): Promise<Outcome> {
    const version = await runProgram('schemathesis', ['--version']);
    if (version.code !== 0) return { leftOut: 'schemathesis is not on the path', figures: [], failures: [] };
    const { short, seed, folder } = torture;
    const settings = { RATE_LIMIT_PER_MINUTE: '0', BATCH_LINES_PER_MINUTE: '0', OPENAPI_PUBLIC: 'true' };
    const stores = await makeStores(torture, settings, ['write', 'read', 'events', 'webhooks']);
    const service = new TorturedService(stores.env);
    const url = await service.start();
    const args = [
      'run',
      `${url}/openapi/json`,
      '--header',
      `x-api-key: ${stores.key.key}`,
      '--seed',
      String(seed),
    ];
    const more = [
      '--checks',
      checks.join(),
      '--phases',
      short ? 'examples,fuzzing' : 'examples,coverage,fuzzing',
    ];
    const bounds = [
      '--max-examples',
      short ? '5' : '300',
      '--request-timeout',
      '20',
      '--exclude-path-regex',
      LEFT_OUT,
      '--exclude-operation-id',
      UPLOAD,
    ];
    const told = await runProgram(
      'schemathesis',
      [...args, ...more, ...bounds, '--continue-on-failure', '--no-color', '--warnings', 'off'],
      { cwd: folder },
    );
    await service.end();
    const [, cases] = /(\d[\d,]*) generated/.exec(told.stdout) ?? [];
    const failed =
      told.code === 0 ? [] : told.stdout.split('\n').filter((line) => /^\s*- |^\s*\[\d+\]/.test(line));
    return {
      figures: [
        ['requests', cases === undefined ? 'unknown' : Number(cases.replaceAll(',', ''))],
        ['schemathesis', version.stdout.trim().replace(/^\D+/, '')],
      ],
      failures: told.code === 0 ? [] : [...failed.slice(0, MOST_TOLD), told.stdout.slice(-4_000)],
    };
  },
};
