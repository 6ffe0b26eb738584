"""A dump of Question2Answer."""

from askonce.types import Link, Post

Q2A = r"""
-- MySQL dump
CREATE TABLE `qa_posts` (
  `postid` int(10) unsigned NOT NULL AUTO_INCREMENT,
  `type` enum('Q','A','C','Q_HIDDEN') NOT NULL,
  `parentid` int(10) DEFAULT NULL,
  `selchildid` int(10) DEFAULT NULL,
  `closedbyid` int(10) DEFAULT NULL,
  `userid` int(10) DEFAULT NULL,
  `netvotes` smallint(6) NOT NULL DEFAULT '0',
  `format` varchar(20) NOT NULL DEFAULT '',
  `created` datetime NOT NULL,
  `title` varchar(800) DEFAULT NULL,
  `content` mediumtext,
  `tags` varchar(800) DEFAULT NULL,
  `name` varchar(40) DEFAULT NULL,
  PRIMARY KEY (`postid`),
  KEY `type` (`type`,`created`)
) ENGINE=InnoDB;
INSERT INTO `qa_posts` VALUES (1,'Q',NULL,2,NULL,5,3,'','2016-05-16 20:04:43','How (far); really?',
'It\'s
  far','a,b',NULL),(2,'A',1,NULL,NULL,NULL,-1,'html','2016-05-16 20:05:00',NULL,
'<p>Ten ''km''</p>',NULL,'Guest');
INSERT INTO `qa_posts` VALUES (3,'Q',NULL,NULL,1,5,0,'','2016-05-17 20:04:43','How far','','',NULL);
INSERT INTO `qa_posts` (`postid`, `type`, `title`) VALUES (4, 'Q_HIDDEN', 'spam'), (5, 'C', 'no');
INSERT INTO `qa_users` (`userid`, `handle`, `passhash`) VALUES (5,'ada',_binary 'x\0y');
"""
BIKES = "https://bikes.example"

# file name, content, options of the import, the posts and links in it
SAMPLE = (
    "dump.sql",
    Q2A,
    {"site": BIKES},
    [
        Post(
            "1",
            "How (far); really?",
            "It's\n  far",
            score=3,
            tags=("a", "b"),
            created="2016-05-16 20:04:43",
            url=f"{BIKES}/1",
            author="ada",
            author_url=f"{BIKES}/user/ada",
            site="bikes.example",
        ),
        Post(
            "2",
            body="Ten 'km'",
            kind="answer",
            parent="1",
            score=-1,
            accepted=True,
            created="2016-05-16 20:05:00",
            html="<p>Ten 'km'</p>",
            url=f"{BIKES}/1?show=2#a2",
            author="Guest",
            site="bikes.example",
        ),
        Post(
            "3",
            "How far",
            score=0,
            created="2016-05-17 20:04:43",
            url=f"{BIKES}/3",
            author="ada",
            author_url=f"{BIKES}/user/ada",
            site="bikes.example",
        ),
        Link("3", "1"),
    ],
)
# file name, content, how the errors begin
DAMAGED = (
    "d.sql",
    "CREATE TABLE `qa_posts` (`postid` int);\nINSERT INTO `qa_posts` VALUES\n(1,2);\n"
    "INSERT INTO qa_posts (postid, type, netvotes) VALUES (7, 'Q', 'x');\nINSERT INTO 'a",
    [
        "d.sql, line 3: expected 1 values for qa_posts, found '2 values'",
        "d.sql, line 4: expected 'netvotes': a whole number, found 'x'",
        "d.sql, line 5: expected a whole SQL dump, found",
    ],
)
