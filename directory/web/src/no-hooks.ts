// In the place of preact/hooks, which the pages do not use: what the library of the signals asks for by name.
function refuse(): never {
  throw new Error("These pages use signals, and no hooks.");
}

export const useEffect = refuse;
export const useMemo = refuse;
export const useRef = refuse;
