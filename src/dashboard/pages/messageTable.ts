import type { Message } from '../../modules/integrations/messages/message.ts';
import { fileSize } from '../components/documents.ts';
import { type Html, html } from '../components/html.ts';
import { messagePath, messagesPath } from '../components/messagePaths.ts';
import { table } from '../components/table.ts';
import { time } from '../components/text.ts';
import { formatTexts, stateBadge } from './messageTexts.ts';

/** Returns messages, each with a link to its page. */
export function messageTable(workspace: string, messages: readonly Message[]): Html {
  return table(
    'Messages, newest first',
    [
      {
        title: 'Received',
        isHeader: true,
        cell: ({ id, received_at }) =>
          html`<a href="/dashboard${messagePath(workspace, id)}">${time(received_at)}</a>`,
      },
      {
        title: 'Source',
        cell: ({ source }) =>
          html`<a href="/dashboard${messagesPath(workspace, { source })}" aria-label="Messages of ${source}">${source}</a>`,
      },
      { title: 'Format', cell: ({ format }) => html`<span class="nowrap">${formatTexts[format]}</span>` },
      { title: 'State', cell: ({ state }) => stateBadge(state) },
      { title: 'Records', cell: ({ records }) => records.toLocaleString('en-US') },
      { title: 'Problems', cell: ({ problems }) => problems.length },
      { title: 'Size', cell: ({ size }) => html`<span class="nowrap">${fileSize(size)}</span>` },
    ],
    messages,
  );
}
