import { MongoServerError } from 'mongodb';

const AUTHENTICATION_FAILED = [18, 8_000];
const UNAUTHORIZED = 13;
const OUT_OF_DISK_SPACE = 14_031;

/**
 * Describes what is wrong with a MongoDB server, for operators: which one, and what to do. Undefined when the server's answer
 * does not tell.
 */
export function mongoProblem(hosts: string, error: unknown): string | undefined {
  const server = `MongoDB at ${hosts}`;
  if (!(error instanceof MongoServerError))
    return `${server} does not answer. Look after it, the network between, and its URL.`;
  if (AUTHENTICATION_FAILED.includes(Number(error.code)))
    return `${server} refuses the user or the password. Mend them in its URL.`;
  if (error.code === UNAUTHORIZED)
    return `${server} does not let the user do this. Give it the role readWrite on the database.`;
  return error.code === OUT_OF_DISK_SPACE ? `${server} has no disk space left. Free some there.` : undefined;
}

/** Says which options of a URL the driver does not accept: their names, and nothing else of the URL. */
export function malformedUrl(url: string, error: unknown): string {
  const { message = '' } = error as { message?: string };
  const names = (/\?(.*)$/.exec(url)?.[1] ?? '').split('&').map((option) => option.replace(/=.*/, ''));
  const named = names.filter(
    (name) => /^\w+$/.test(name) && message.toLowerCase().includes(name.toLowerCase()),
  );
  const what = named.length === 0 ? 'it' : `its option ${named.join(', ')}`;
  return `The URL of MongoDB is malformed: the driver does not accept ${what}. A user or password needs %XX for : / ? # [ ] @ and %.`;
}
