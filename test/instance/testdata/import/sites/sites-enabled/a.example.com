server {
    listen 80 default_server backlog=64;
    listen [::]:80 default_server;
    server_name a.example.com;
    access_log /var/log/nginx/a.log short buffer=4k;
    include snippets/common.conf;
    location / { return 200 a; }
}
