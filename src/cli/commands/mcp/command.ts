import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { type Command, InvalidArgumentError } from 'commander';
import { terminal } from '../../../server/terminal.ts';
import { addServiceOptions, requireKey, requireUrl, type ServiceOptions } from '../../lib/client.ts';
import { example, untilInterrupted } from '../../lib/terminal.ts';
import { mcpHttpServer } from './http.ts';
import { type McpOptions, mcpServer, ownKey } from './server.ts';

interface Options extends ServiceOptions {
  purpose: string;
  phi?: boolean;
  listen?: { host: string; port: number };
}

function parseListen(text: string): Options['listen'] {
  const [, host = '127.0.0.1', port = ''] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? [];
  if (port !== '' && Number(port) <= 65_535) return { host, port: Number(port) };
  throw new InvalidArgumentError('Specify a port, or an address and a port such as 127.0.0.1:3400.');
}

async function mcp({ purpose, phi = false, listen, ...service }: Options, command: Command): Promise<void> {
  const options: McpOptions = { url: requireUrl(command, service.url), purpose, phi };
  if (listen === undefined) await serveStdio(options, await requireKey(command, service.keyFile));
  else await serveHttp(options, listen);
}

/** Serves the client at standard input and output until it ends its input. */
async function serveStdio(options: McpOptions, key: string): Promise<void> {
  const { stdin, stdout } = terminal();
  const server = mcpServer(options, key, await ownKey(options, key));
  await untilInterrupted(async (signal) => {
    const ended = once(stdin, 'end', { signal });
    await server.connect(new StdioServerTransport(stdin as never, stdout as never));
    await ended.finally(() => server.close());
  });
}

async function serveHttp(options: McpOptions, { host, port }: { host: string; port: number }): Promise<void> {
  const server = mcpHttpServer(options);
  await untilInterrupted(async (signal) => {
    server.listen(port, host);
    await once(server, 'listening');
    const { address, port: chosen } = server.address() as AddressInfo;
    const name = address.includes(':') ? `[${address}]` : address;
    terminal().stderr.write(`MCP server at http://${name}:${chosen}/mcp\n`);
    try {
      await once(server, 'close', { signal });
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
}

/** `chartledger mcp` */
export function addMcpCommand(program: Command): void {
  addServiceOptions(
    program
      .command('mcp')
      .description(
        'Run an MCP server, with which an assistant reads a workspace: records, history, who has seen them, the billing worklist, ' +
          'refused requests and this documentation. It writes nothing. What it reads is de-identified, and each read is recorded in ' +
          'the audit trail. It serves standard input and output, or Streamable HTTP with --listen.',
      ),
    'read, and audit for who has seen a record,',
  )
    .requiredOption('--purpose <text>', 'what the reads are for, for the audit trail')
    .option('--phi', 'show patient data as it is, if the key may read it')
    .option(
      '--listen <port>',
      'serve Streamable HTTP at this port, or ADDRESS:PORT; each request then carries its own key',
      parseListen,
    )
    .addHelpText(
      'after',
      example(
        'export CHARTLEDGER_API_KEY=clk_…',
        'chartledger mcp --purpose "Review of denied claims"',
        'chartledger mcp --purpose "Audit of May" --phi --listen 3400',
      ),
    )
    .action(mcp);
}
