import { writeFileSync } from 'node:fs';
import { inspect, parseArgs } from 'node:util';
import type { Bench, Report, Scenario } from './scenario.ts';
import { audit } from './scenarios/audit.ts';
import { axesScenario } from './scenarios/axes.ts';
import { batch } from './scenarios/batch.ts';
import { bytes } from './scenarios/bytes.ts';
import { checkpoint } from './scenarios/checkpoint.ts';
import { clinic } from './scenarios/clinic.ts';
import { cores } from './scenarios/cores.ts';
import { encounter } from './scenarios/encounter.ts';
import { eventstoredb } from './scenarios/eventstoredb.ts';
import { gate } from './scenarios/gate.ts';
import { growth } from './scenarios/growth.ts';
import { history } from './scenarios/history.ts';
import { hl7 } from './scenarios/hl7.ts';
import { metrics } from './scenarios/metrics.ts';
import { pages } from './scenarios/pages.ts';
import { pastScenario } from './scenarios/past.ts';
import { projector } from './scenarios/projector.ts';
import { proof } from './scenarios/proof.ts';
import { read } from './scenarios/read.ts';
import { readiness } from './scenarios/readiness.ts';
import { rebuild } from './scenarios/rebuild.ts';
import { rest } from './scenarios/rest.ts';
import { search } from './scenarios/search.ts';
import { startup } from './scenarios/startup.ts';
import { stream } from './scenarios/stream.ts';
import { upload } from './scenarios/upload.ts';
import { upsert } from './scenarios/upsert.ts';
import { webhooks } from './scenarios/webhooks.ts';
import { inOwnFolder } from './support/inOwnFolder.ts';
import { MeasuringProcess } from './support/load/measuringProcess.ts';
import { section } from './support/report.ts';
import { killServers } from './support/serverProcess.ts';
import { compileSyncLibrary } from './support/syncs/syncGauge.ts';
import { writeSection } from './support/writeSection.ts';

const scenarios: Scenario[] = [
  upsert,
  gate,
  cores,
  batch,
  hl7,
  encounter,
  clinic,
  read,
  checkpoint,
  metrics,
  bytes,
  upload,
  startup,
  readiness,
  rebuild,
  growth,
  axesScenario,
  pastScenario,
  history,
  pages,
  search,
  proof,
  projector,
  stream,
  webhooks,
  rest,
  audit,
  eventstoredb,
];
const resultsPath = new URL('RESULTS.md', import.meta.url);

/** The exit code for what has become too expensive; for anything else that failed it is 1. */
const EXCEEDED = 3;

const usage = `npm run bench [-- OPTIONS]
  --scenario NAME[,NAME]  only these: ${scenarios.map(({ name }) => name).join(', ')}
  --quick                 few, short rounds
  --out FILE              also writes the tables to a file
  --write                 puts the tables into ops/bench/RESULTS.md
  --profile FOLDER        the service leaves CPU profiles in the folder; node ops/bench/profile.ts FOLDER sums them up
`;

const { values } = parseArgs({
  options: {
    scenario: { type: 'string' },
    quick: { type: 'boolean', default: false },
    out: { type: 'string' },
    write: { type: 'boolean', default: false },
    profile: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

/** Returns the requested scenarios; undefined when a name is unknown. */
function chosen(): Scenario[] | undefined {
  const names = values.scenario?.split(',');
  const known = new Set(scenarios.map(({ name }) => name));
  if (names?.some((name) => !known.has(name))) return undefined;
  return scenarios.filter(({ name, isOnlyByName = false }) => names?.includes(name) ?? !isOnlyByName);
}

/** Runs one scenario in a folder of its own. */
async function runOne(scenario: Scenario, load: MeasuringProcess, folder: string): Promise<Report> {
  const { quick, profile: profiles } = values;
  const timing = quick
    ? { rounds: 2, warmUpSeconds: 0, seconds: 0.8 }
    : { rounds: 5, warmUpSeconds: 1, seconds: 3 };
  const progress = (line: string) => process.stderr.write(`${scenario.name}: ${line}\n`);
  const syncLibrary = compileSyncLibrary(folder);
  if (syncLibrary === undefined) progress('no cc here: syncs are as fast as the disk');
  const bench: Bench = { quick, ...timing, folder, load, syncLibrary, profiles, progress };
  return scenario.run(bench);
}

async function run(): Promise<void> {
  const wanted = chosen();
  if (values.help || wanted === undefined) {
    process.stdout.write(usage);
    process.exitCode = values.help ? 0 : 1;
    return;
  }
  const sections: string[] = [];
  const load = new MeasuringProcess('httpLoad.ts');
  try {
    for (const scenario of wanted) {
      try {
        const run = (folder: string) => runOne(scenario, load, folder);
        const report = await inOwnFolder('chartledger-bench-', killServers, run);
        if (report.leftOut !== undefined) {
          process.stderr.write(`${scenario.name} was left out: ${report.leftOut}\n`);
          continue;
        }
        const text = section(scenario, report, values.quick);
        process.stdout.write(`${text}\n\n`);
        sections.push(text);
        if (report.exceeded !== undefined) {
          process.stderr.write(`${report.exceeded}\n`);
          process.exitCode = EXCEEDED;
        }
        if (values.write) writeSection(resultsPath, scenario.name, text);
      } catch (error) {
        process.stderr.write(`${scenario.name} did not run to its end: ${inspect(error)}\n`);
        process.exitCode = 1;
      }
    }
  } finally {
    load.stop();
  }
  if (values.out) writeFileSync(values.out, `${sections.join('\n\n')}\n`);
}

await run();
