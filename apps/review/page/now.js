// What answers later, a timer or the server, asks for the values of the latest drawing.

import { useRef } from "./vendor/preact-htm.mjs";

export function useNow(values) {
  const now = useRef(values);
  now.current = values;
  return now;
}
