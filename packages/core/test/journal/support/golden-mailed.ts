/** Golden journals that wait, and the tokens that were mailed for them. */

/** Tokens as they were mailed when the journals were made: a build that derives another one loses their answers. */
export const mailed = [
  [
    "parked-in-branches",
    "parallel[credit]/credit",
    "a3s6n67klek736jntis553knwrnuoh4jxtmfdv2cfbwpjldgqvbmfeu",
  ],
  [
    "forked-parked",
    "parallel[appraisal]/appraisal",
    "amajg2kgeu6v264nuguegdobvetp2eryszxxwoeifnjybvqq72exne5",
  ],
  [
    "parked-in-children",
    "teacher/map[shy]/pupil/ask",
    "ahjrezwiseazzbyozkfhvfyi4zv4iywx6fkuy2wpcawyb5ddwx7lxvd",
  ],
  ["parked-in-doubt", "charge/uncertain", "aoqj2fvdg5s5rbbxtyegcya4a5rpdvdzlkksdv5x42qywzeexx4bngw"],
  ["nonce-parked", "parallel[visa]/visa", "avv7ax6hwrgcwajupiasvbkfwm7ok5dm3xoaiz2j2djbdoishn6x4ik"],
  ["nonce-parked", "parallel[porter]/porter/ask", "axt2m3nzjeivydymuhil4dcfmpxt6vqftracbpgw73bc35kfebhquly"],
  ["nonce-forked", "rate", "agplkl3s352amfjpdxvaqm4suerd72mhlrwlc55e23zo524vcgf2usj"],
  ["chapter-3-parked", "note", "ajuiskya66pf4safklluvw4zawbaw2p4cyp5jnu3owein7txyq5m6fl"],
  ["a-continued-child", "note", "aym4oq6dkmelpgyzzni4khg2hprcck2aroka3etm5elru56wtqvsdsf"],
  ["parked-in-a-continued-child", "logbook/note", "auytmf3mhgncz4tbro2yz7kh36jqo7zhhcb3w2n7w6o4neo2h3s3zit"],
  ["line-with-an-anchor", "more#19", "a7dxzl2wfm2llplogjj3lzgvgsl7moxgqjubyc24ftaolxmpgovzsbo"],
] as const;
