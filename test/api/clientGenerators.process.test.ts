import { execFile, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest';
import { fetchDocument } from '../support/openapi.ts';
import { outputFolder } from '../support/output.ts';
import { pdf } from '../support/samples.ts';
import { appendedBy, startTestService, type TestService } from '../support/service.ts';

const LONG_MS = 600_000;
const programs = resolve('test/clientGenerators/programs');
/** Generators and libraries outlive a run of the tests; each run generates the clients again. */
const cache = resolve('node_modules/.cache/client-generators');
const generated = resolve(outputFolder, 'generated-clients');
const [environment, jars, crates] = ['python', 'jars', 'crates'].map((name) => join(cache, name)) as [
  string,
  string,
  string,
];
const python = join(environment, 'bin/python');
const report = join(generated, 'report.pdf');

const openapiGenerator = { version: '7.25.0', jar: join(cache, 'openapi-generator-cli-7.25.0.jar') };
const oapiCodegen = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';
const pythonPackages = ['openapi-python-client==0.29.1', 'urllib3>=2.7,<3', 'python-dateutil', 'pydantic'];

const withoutDocs = { apiDocs: 'false', modelDocs: 'false', apiTests: 'false', modelTests: 'false' };

/** The generators of openapi-generator, with their options. */
const targets = {
  java: { library: 'native' },
  python: { packageName: 'chartledger_openapi' },
  'typescript-fetch': { importFileExtension: '.js' },
  go: { packageName: 'chartledger' },
  rust: { packageName: 'chartledger' },
  csharp: {},
};

/** What no program uses is generated only as far as a test reads it. */
const parts: Record<string, object> = {
  csharp: { apis: 'Encounters', models: 'Encounter,EncounterState' },
};

type Tool = 'java' | 'mvn' | 'python3' | 'go' | 'cargo';
const toolNames: Tool[] = ['java', 'mvn', 'python3', 'go', 'cargo'];
const missingTools = toolNames.filter(
  (tool) => spawnSync(tool, [tool === 'go' ? 'version' : '--version']).status !== 0,
);

/** Packages could not be fetched. */
class NotFetched extends Error {}

/** For commands of seconds: compilers that spend less on what they compile; Go's cache may have the standard library as it is usually compiled. */
const cheaply = {
  CGO_ENABLED: '0',
  GOFLAGS: `${process.env.GOFLAGS ?? ''} '-gcflags=generated/...=-N -l' -ldflags=-w`,
  GOGC: '400',
};

/** Resolves with what a command printed on standard output. Rejects with all that it printed. */
async function run(command: string, args: string[], env: object = {}, cwd = generated): Promise<string> {
  const options = { cwd, env: { ...process.env, ...cheaply, ...env }, maxBuffer: 2 ** 26 };
  const { stdout } = await promisify(execFile)(command, args, options).catch(
    ({ message, stdout, stderr }) => {
      throw new Error(`${message}\n${stdout}${stderr}`.slice(-10_000));
    },
  );
  return stdout;
}

/** Fetches packages by `work`, unless an earlier run did. Rejects with `NotFetched`. */
async function fetched(what: string, result: string, work: () => Promise<unknown>): Promise<void> {
  if (existsSync(result)) return;
  await work().catch((cause) => {
    rmSync(result, { recursive: true, force: true });
    throw new NotFetched(`${what} could not be fetched`, { cause });
  });
}

/** Returns a function that does the work when it is first called, and gives its result each time. */
function once<Result>(work: () => Result): () => Result {
  let results: [Result] | undefined;
  return () => {
    results ??= [work()];
    return results[0];
  };
}

const pythonEnvironment = once(() =>
  fetched('Python packages', environment, async () => {
    await run('python3', ['-m', 'venv', '--without-pip', environment]);
    const pip = ['-m', 'pip', '--python', python];
    await run('python3', [...pip, 'install', '-q', '--no-compile', ...pythonPackages]);
  }),
);

/** openapi-generator looks up the names of schemas for each property: all of them fit in this cache, and not in its default of 200. */
const nameCache = ['cachesize=100000', 'expireafter.seconds=3600'].map(
  (setting) => `-Dorg.openapitools.codegen.utils.namecache.${setting}`,
);

const byOpenapiGenerator = once(async () => {
  const { version, jar } = openapiGenerator;
  const artifact = `-Dartifact=org.openapitools:openapi-generator-cli:${version}`;
  const copy = ['-q', 'dependency:copy', artifact, `-DoutputDirectory=${cache}`];
  await fetched('openapi-generator', jar, () => run('mvn', copy));
  const configurations = Object.entries(targets).map(([generatorName, additionalProperties]) => {
    const path = join(generated, `${generatorName}.json`);
    const configuration = {
      generatorName,
      additionalProperties,
      inputSpec: join(generated, 'openapi.json'),
      outputDir: join(generated, generatorName),
      globalProperties: { ...withoutDocs, ...parts[generatorName] },
    };
    writeFileSync(path, JSON.stringify(configuration));
    return path;
  });
  const options = ['-Xmn512m', ...nameCache, '-jar', jar, 'batch', '--fail-fast'];
  await run('java', [...options, ...configurations]);
});

const byOapiCodegen = once(async () => {
  const generator = join(cache, 'oapi-codegen');
  await fetched('oapi-codegen', generator, () => run('go', ['install', oapiCodegen], { GOBIN: cache }));
  mkdirSync(join(generated, 'oapi'));
  const what = ['-package', 'oapi', '-generate', 'types,client'];
  await run(generator, [...what, '-o', 'oapi/client.go', 'openapi.json']);
});

const byOpenapiPythonClient = once(async () => {
  await pythonEnvironment();
  const output = ['--meta', 'none', '--output-path', 'chartledger_httpx'];
  const generator = join(environment, 'bin/openapi-python-client');
  await run(generator, ['generate', '--path', 'openapi.json', ...output]);
});

type Environment = Record<string, string>;

async function runJava(env: Environment): Promise<string> {
  const copy = ['-q', 'dependency:copy-dependencies', '-DincludeScope=compile', `-DoutputDirectory=${jars}`];
  await fetched('Java libraries', jars, () => run('mvn', ['-f', 'java/pom.xml', ...copy]));
  const path = ['-cp', `classes:${jars}/*`];
  const sources = ['-sourcepath', 'java/src/main/java', join(programs, 'Program.java')];
  await run('javac', ['-nowarn', '-proc:none', '-d', 'classes', ...path, ...sources]);
  return run('java', [...path, 'Program'], env);
}

async function runPython(program: string, env: Environment): Promise<string> {
  await pythonEnvironment();
  return run(python, [join(programs, program)], {
    ...env,
    PYTHONPATH: `${generated}:${join(generated, 'python')}`,
  });
}

async function runTypescript(env: Environment): Promise<string> {
  copyFileSync(join(programs, 'typescript-fetch.ts'), join(generated, 'program.ts'));
  const compilerOptions = {
    ...{ strict: true, target: 'es2023', lib: ['es2023', 'dom', 'dom.iterable'], module: 'nodenext' },
    ...{ types: ['node'], typeRoots: [resolve('node_modules/@types')], skipLibCheck: true },
    ...{ rootDir: '.', outDir: 'compiled' },
  };
  writeFileSync(join(generated, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }));
  writeFileSync(join(generated, 'package.json'), '{"type": "module"}');
  await run(process.execPath, [resolve('node_modules/typescript/bin/tsc'), '-p', '.']);
  return run(process.execPath, ['compiled/program.js'], env);
}

const goModules = once(() => {
  rmSync(join(generated, 'go/go.mod'), { force: true });
  const needed = ['gopkg.in/validator.v2 v2.0.1', 'github.com/oapi-codegen/runtime v1.9.0'];
  writeFileSync(
    join(generated, 'go.mod'),
    `module generated\n\ngo 1.24\n\nrequire (\n${needed.join('\n')}\n)\n`,
  );
});

async function runGo(name: string, env: Environment): Promise<string> {
  goModules();
  const folder = join(generated, name);
  mkdirSync(folder);
  copyFileSync(join(programs, `${name}.go`), join(folder, 'main.go'));
  const packages = join(folder, 'packages.txt');
  await fetched('Go modules', packages, async () =>
    writeFileSync(packages, await run('go', ['list', '-mod=mod', '-deps', `./${name}`])),
  );
  return run('go', ['run', '-mod=mod', `./${name}`], env);
}

const manifest = `[package]
name = "program"
version = "0.0.0"
edition = "2021"

[[bin]]
name = "program"
path = "${join(programs, 'rust.rs')}"

[dependencies]
chartledger = { path = "../rust", default-features = false }
serde_json = "1"
tokio = { version = "1", features = ["rt", "macros"] }
# Host names in ASCII: a fifth fewer crates.
idna_adapter = "=1.0.0"

[profile.dev]
debug = false
incremental = false
`;

async function runRust(env: Environment): Promise<string> {
  const folder = join(generated, 'rust-program');
  mkdirSync(folder);
  writeFileSync(join(folder, 'Cargo.toml'), manifest);
  // Macros of serde_with, which no generated code uses, are a tenth of what is compiled before the client.
  const client = join(generated, 'rust');
  const clientManifest = join(client, 'Cargo.toml');
  writeFileSync(clientManifest, readFileSync(clientManifest, 'utf8').replace(', "macros"]', ']'));
  // An invalid manifest is not a failure to fetch what it names.
  await run('cargo', ['metadata', '-q', '--no-deps', '--format-version=1'], {}, client);
  await fetched('crates', join(folder, 'Cargo.lock'), () => run('cargo', ['fetch', '-q'], {}, folder));
  return run('cargo', ['run', '-q', '--offline'], { ...env, CARGO_TARGET_DIR: crates }, folder);
}

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  rmSync(generated, { recursive: true, force: true });
  mkdirSync(generated, { recursive: true });
  writeFileSync(join(generated, 'openapi.json'), JSON.stringify(await fetchDocument(service)));
  writeFileSync(report, pdf());
  await Promise.allSettled([byOpenapiGenerator(), byOapiCodegen(), byOpenapiPythonClient()]);
}, LONG_MS);
afterAll(() => service.stop());

/** Resolves with the result of `work`; skips the test, with the reason, if the machine cannot do it. */
async function orSkip<Result>(
  { skip, task }: TestContext,
  needs: Tool[],
  work: () => Promise<Result>,
): Promise<Result> {
  const skipFor = (reason: string) => {
    process.stdout.write(`Skipped: ${task.name}: ${reason}.\n`);
    return skip(reason);
  };
  const absent = needs.filter((tool) => missingTools.includes(tool));
  if (absent.length > 0) return skipFor(`there is no ${absent.join(', no ')} on the path`);
  return work().catch((error) => {
    if (error instanceof NotFetched) return skipFor(error.message);
    throw error;
  });
}

interface GeneratedClient {
  generator: string;
  needs: Tool[];
  generate(): Promise<void>;
  /** Compiles the program that uses the client, and runs it. */
  run(env: Environment): Promise<string>;
}

const jvm: Tool[] = ['java', 'mvn'];

const clients: GeneratedClient[] = [
  {
    generator: 'openapi-generator for java',
    needs: jvm,
    generate: byOpenapiGenerator,
    run: runJava,
  },
  {
    generator: 'openapi-generator for python',
    needs: [...jvm, 'python3'],
    generate: byOpenapiGenerator,
    run: (env) => runPython('openapi_generator.py', env),
  },
  {
    generator: 'openapi-generator for typescript-fetch',
    needs: jvm,
    generate: byOpenapiGenerator,
    run: runTypescript,
  },
  {
    generator: 'openapi-generator for go',
    needs: [...jvm, 'go'],
    generate: byOpenapiGenerator,
    run: (env) => runGo('openapi-generator', env),
  },
  {
    generator: 'openapi-generator for rust',
    needs: [...jvm, 'cargo'],
    generate: byOpenapiGenerator,
    run: runRust,
  },
  {
    generator: 'oapi-codegen',
    needs: ['go'],
    generate: byOapiCodegen,
    run: (env) => runGo('oapi-codegen', env),
  },
  {
    generator: 'openapi-python-client',
    needs: ['python3'],
    generate: byOpenapiPythonClient,
    run: (env) => runPython('openapi_python_client.py', env),
  },
];

test.for(clients)(
  'the client of $generator writes, has the details of a refusal, uploads, and lists pages',
  { timeout: LONG_MS },
  async (client, context) => {
    const [label = ''] = client.generator.match(/\w+$/) ?? [];
    const { key } = await service.createKey(label);
    const emr = service.as(key);
    const patient = { id: 'patient-1', first_name: 'Maria', last_name: 'Lopez', date_of_birth: '1984-02-29' };
    await emr.post('/integration/patients', patient);
    await emr.post('/integration/encounters', {
      ...{ id: 'encounter-0', patient_id: 'patient-1', is_completed: true },
    });

    let printed = '';
    const events = await appendedBy(service, async () => {
      printed = await orSkip(context, client.needs, async () => {
        await client.generate();
        return client.run({ CHARTLEDGER_URL: service.url, CHARTLEDGER_API_KEY: key, REPORT: report });
      });
    });

    const isRust = client.run === runRust;
    expect(JSON.parse(printed)).toEqual({
      written: ['created', 1],
      refused: [['patient_id', 'nobody']],
      uploaded: 'report-1',
      listed: [
        ['encounter-0', true],
        ['encounter-1', true],
      ],
      ...(isRust && { batch: ['payer-1', 'payer-2'] }),
    });
    expect(events).toEqual([
      `${label}.encounter-encounter-1: EncounterUpserted`,
      `${label}.document-encounter-1%2Freport-1: DocumentUploaded`,
      ...(isRust ? ['payer-1', 'payer-2'].map((id) => `${label}.payer-${id}: PayerUpserted`) : []),
    ]);
  },
);

test('openapi-generator for csharp generates a client in which is_completed is a boolean', async (context) => {
  await orSkip(context, jvm, byOpenapiGenerator);
  const source = (path: string) => readFileSync(join(generated, 'csharp/src/Org.OpenAPITools', path), 'utf8');
  expect(source('Model/Encounter.cs')).toContain('public bool? IsCompleted ');
  expect(source('Model/EncounterState.cs')).toContain('public bool? IsCompleted ');
  expect(source('Api/EncountersApi.cs')).toContain('Option<bool> isCompleted = default');
});
