import leven from 'leven';
import { settingNames } from './settings.ts';

/**
 * Returns the environment variables that are not settings but have nearly the name of one, with that name: differing
 * in about one letter in five, or in underscores or case.
 */
export function misspeltSettings(env: Record<string, string | undefined>): { name: string; meant: string }[] {
  return Object.keys(env)
    .filter((name) => !settingNames.includes(name))
    .flatMap((name) => {
      const meant = settingNames.find((setting) => isNearly(plain(name), plain(setting)));
      return meant === undefined ? [] : [{ name, meant }];
    });
}

const plain = (name: string) => name.toUpperCase().replaceAll('_', '');

function isNearly(name: string, setting: string): boolean {
  const maxDistance = Math.max(1, Math.floor(setting.length / 5));
  return leven(name, setting, { maxDistance: maxDistance + 1 }) <= maxDistance;
}
