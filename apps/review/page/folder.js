// The folder: its kinds and totals, and whether a run or somebody else has changed it.

import { useEffect, useState } from "./vendor/preact-htm.mjs";
import * as api from "./api.js";
import { useNow } from "./now.js";

const EVERY = 2500;

// `changed` is called when the folder has changed, `found` whenever the server answers.
export function useFolder(changed, found) {
  const [facets, setFacets] = useState(null);
  const [gone, setGone] = useState("");
  const now = useNow({ changed, found });
  useEffect(() => {
    let snapshot = null;
    const look = () => {
      if (document.hidden) return;
      api.get("/api/overview").then((told) => {
        setFacets(told);
        document.title = `Review: ${told.folder.split("/").filter(Boolean).at(-1) || "/"}`;
        if (snapshot !== null && told.snapshot !== snapshot) now.current.changed();
        snapshot = told.snapshot;
        setGone("");
        now.current.found();
      }, (error) => setGone(error.message));
    };
    look();
    const timer = setInterval(look, EVERY);
    return () => clearInterval(timer);
  }, []);
  return [facets, gone];
}
