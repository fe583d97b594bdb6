import { randomInt } from 'node:crypto';
import { inspect, parseArgs } from 'node:util';
import { inOwnFolder } from '../bench/support/inOwnFolder.ts';
import { writeSection } from '../bench/support/writeSection.ts';
import type { Scenario } from './scenario.ts';
import { bodies } from './scenarios/bodies.ts';
import { clients } from './scenarios/clients.ts';
import { disk } from './scenarios/disk.ts';
import { erasures } from './scenarios/erasures.ts';
import { faults } from './scenarios/faults.ts';
import { kills } from './scenarios/kills.ts';
import { model } from './scenarios/model.ts';
import { neighbor } from './scenarios/neighbor.ts';
import { overload } from './scenarios/overload.ts';
import { properties } from './scenarios/properties.ts';
import { schema } from './scenarios/schema.ts';
import { servers } from './scenarios/servers.ts';
import { warehouse } from './scenarios/warehouse.ts';
import { holds, section } from './support/report.ts';
import { killProcesses } from './support/TorturedService.ts';

const scenarios: Scenario[] = [
  kills,
  model,
  properties,
  faults,
  disk,
  servers,
  clients,
  erasures,
  warehouse,
  neighbor,
  bodies,
  overload,
  schema,
];
const resultsPath = new URL('RESULTS.md', import.meta.url);
const HIGHEST_SEED = 2_147_483_646;

const usage = `npm run torture [-- OPTIONS]
  --scenario NAME[,NAME]  only these: ${scenarios.map(({ name }) => name).join(', ')}
  --short                 seconds for each instead of minutes
  --seed NUMBER           1 to ${HIGHEST_SEED}; the same one makes the same choices; default: another one each time
  --path RUN              of the model: begins with the run that a failure names
  --write                 puts the figures into ops/torture/RESULTS.md
`;

const { values } = parseArgs({
  options: {
    scenario: { type: 'string' },
    short: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(randomInt(1, HIGHEST_SEED)) },
    path: { type: 'string' },
    write: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);

/** Returns the requested scenarios; undefined when an option has an invalid value. */
function chosen(): Scenario[] | undefined {
  const names = values.scenario?.split(',');
  const known = new Set(scenarios.map(({ name }) => name));
  if (names?.some((name) => !known.has(name))) return undefined;
  if (!Number.isInteger(seed) || seed < 1 || seed > HIGHEST_SEED) return undefined;
  return scenarios.filter(({ name }) => names?.includes(name) ?? true);
}

/** Runs one scenario in a folder of its own. */
async function runOne(scenario: Scenario, folder: string): Promise<void> {
  const progress = (line: string) => process.stderr.write(`${scenario.name}: ${line}\n`);
  const { short, path } = values;
  const torture = { short, seed, folder, progress, ...(path !== undefined && { path }) };
  progress(`seed ${seed}`);
  const outcome = await scenario.run(torture);
  if (outcome.leftOut !== undefined) {
    progress(`left out: ${outcome.leftOut}`);
    return;
  }
  const text = section(scenario, torture, outcome);
  process.stdout.write(`${text}\n\n`);
  if (values.write) writeSection(resultsPath, scenario.name, text);
  if (!holds(outcome)) process.exitCode = 1;
}

const wanted = chosen();
if (values.help || wanted === undefined) {
  process.stdout.write(usage);
  process.exitCode = values.help ? 0 : 1;
} else {
  for (const scenario of wanted) {
    const run = (folder: string) => runOne(scenario, folder);
    await inOwnFolder('chartledger-torture-', killProcesses, run).catch((error) => {
      process.stderr.write(`${scenario.name} did not run to its end: ${inspect(error)}\n`);
      process.exitCode = 1;
    });
  }
  // The writers of a scenario that failed would retry forever.
  process.exit();
}
