/** Golden journals that wait, and the tokens that were mailed for them. */

/** Tokens as they were mailed when the journals were made: a build that derives another one loses their answers. */
export const mailed = [
  [
    "parked-in-branches",
    "parallel[credit]/credit",
    "a3s6n67klek736jntis555v3knwrnymt7k5ekxdaemn55bxc236ct4h",
  ],
  [
    "forked-parked",
    "parallel[appraisal]/appraisal",
    "amajg2kgeu6v264nuguegqadobvetaaq7gcagk4rkhk5wj7bad65l43",
  ],
  [
    "parked-in-children",
    "teacher/map[shy]/pupil/ask",
    "ahjrezwiseazzbyozkfhv42fyi4zvfid7ht4xiam7mqtkspy5vkz5xe",
  ],
  ["parked-in-doubt", "charge/uncertain", "aoqj2fvdg5s5rbbxtyegcweya4a5r2ngocd7s52jrz3p6tnie4ztfv2"],
  ["nonce-parked", "parallel[visa]/visa", "avv7ax6hwrgcwajupiasvh5bkfwm7dyw4r64233362uw3vljirxxcvi"],
  ["nonce-parked", "parallel[porter]/porter/ask", "axt2m3nzjeivydymuhil4lfdcfmpxwwa7a3ig4alidwgkm34atbdq4f"],
  ["nonce-forked", "rate", "agplkl3s352amfjpdxvaqbvm4suerqds7djc3u2exjgsgrnzv5wcbop"],
  ["chapter-3-parked", "note", "ajuiskya66pf4safklluvffw4zawb7elryoyqbcwfngybtn7vl4fbr6"],
  ["a-continued-child", "note", "aym4oq6dkmelpgyzzni4krmhg2hprtlisik73ttq6dshr3z6m4dd7et"],
  ["parked-in-a-continued-child", "logbook/note", "auytmf3mhgncz4tbro2yztw7kh36jcds5sq77kq7mzr7wbxa2c3nmeu"],
  ["line-with-an-anchor", "more#19", "a7dxzl2wfm2llplogjj3ltjzgvgsleiudfmgufhh4se64siylnorlx7"],
] as const;
